// Two shared libraries of a program contain the same kernel, as two copies of Rondo do. Each launches its
// own.
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/tests/support/status_checks.h>

namespace rondo::test {

Status write_number_of_copy_1(int* to);
Status write_number_of_copy_2(int* to);

namespace {

TEST(TwoCopies, LaunchTheirOwnKernels) {
  Buffer<int> numbers(4);
  ASSERT_TRUE(ok(write_number_of_copy_1(numbers.data())));
  EXPECT_EQ(numbers.download(), (std::vector<int>{10, 11, 12, 13}));
  ASSERT_TRUE(ok(write_number_of_copy_2(numbers.data())));
  EXPECT_EQ(numbers.download(), (std::vector<int>{20, 21, 22, 23}));
}

}  // namespace
}  // namespace rondo::test
