// reduce_vectors(): every element is reduced once, wherever the vectors lie.
#include <gtest/gtest.h>

#include <rondo/collectives/reduce/reduce_vectors.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/tests/support/status_checks.h>

#include <cstdint>
#include <vector>

namespace rondo::test {
namespace {

// A block of the kernel covers this many bytes from a 16-byte boundary on.
constexpr int64_t kBlockBytes = 16384;

// Adds two vectors that lie `lead` elements past a boundary, and stores the sum `to` elements past one.
template <class T>
void expect_all(int64_t size, int64_t lead, int64_t to) {
  const auto whole = static_cast<size_t>(size + lead + to + 4);
  std::vector<T> a(whole), b(whole), want(whole, T{99});
  for (size_t i = 0; i < whole; ++i) {
    a[i] = static_cast<T>(i % 61);
    b[i] = static_cast<T>(i % 59);
  }
  for (int64_t i = 0; i < size; ++i) {
    const auto from = static_cast<size_t>(lead + i);
    want[static_cast<size_t>(to + i)] = static_cast<T>(a[from] + b[from]);
  }
  const Buffer<T> of_a(a), of_b(b);
  Buffer<T> sum(std::vector<T>(whole, T{99}));
  ReduceArguments arguments;
  arguments.size = size;
  arguments.read(of_a.data() + lead);
  arguments.read(of_b.data() + lead);
  arguments.write(sum.data() + to);
  ASSERT_TRUE(
      ok(reduce_vectors("test", dtype_of<T>, Reduction::sum, SumOrder::left_to_right, arguments, nullptr)));
  EXPECT_EQ(sum.download(), want) << name_of(dtype_of<T>) << ", size " << size << ", lead " << lead << ", to "
                                  << to;
}

template <class T>
void expect_all_around_blocks() {
  constexpr int64_t kWidth = 16 / sizeof(T), kBlock = kBlockBytes / sizeof(T);
  for (int64_t lead = 0; lead < kWidth; ++lead)
    for (const int64_t to : {lead, (lead + 1) % kWidth}) {
      // The last element is in the last pack of a block, and in the first of the next one.
      for (const int64_t end : {int64_t{1}, kWidth, kBlock - 1, kBlock, kBlock + 1, 2 * kBlock + 1})
        if (end > lead) expect_all<T>(end - lead, lead, to);
      expect_all<T>(kBlock, lead, to);
    }
}

TEST(ReduceVectors, EveryElementWhereverTheVectorsLie) {
  expect_all_around_blocks<uint8_t>();
  expect_all_around_blocks<float>();
  expect_all_around_blocks<int64_t>();
}

}  // namespace
}  // namespace rondo::test
