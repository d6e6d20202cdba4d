// The address sanitizer must report a kernel that accesses memory outside its operands, also a read whose
// value is dropped. Each planted error is a death test, so only the address sanitizer's build has it.
#include <gtest/gtest.h>

#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/status_checks.h>
#include <rondo/kernels/core/launch.cuh>

#include <numeric>

namespace rondo::test {
namespace {

constexpr int64_t kNowhere = INT64_MIN;

// Sums `size` elements of `x`, and reads element `stray` without using it.
template <class T>
__global__ void read_kernel(T* sum, const T* x, int64_t size, int64_t stray) {
  T total = 0;
  for (int64_t i = 0; i < size; ++i) total += x[i];
  if (stray != kNowhere) static_cast<void>(static_cast<const volatile T*>(x)[stray]);
  *sum = total;
}
template <class T>
__global__ void write_kernel(T* x, int64_t at) {
  x[at] = T{0};
}

template <class T>
class GuardedReads : public testing::Test {
 protected:
  static std::vector<T> numbers(int64_t size) {
    std::vector<T> values(static_cast<size_t>(size));
    std::iota(values.begin(), values.end(), T{1});
    return values;
  }
  // Sums a row of a buffer; the kernel also reads the element `stray` elements from the row's beginning.
  static T sum(const T* row, int64_t size, int64_t stray) {
    const Stream stream;
    GuardedBuffer<T> result(1);
    EXPECT_TRUE(ok(launch("read", {}, stream, read_kernel<T>, result.data(), row, size, stray)));
    return result.download()[0];
  }
  static void write(T* x, int64_t at) {
    const Stream stream;
    EXPECT_TRUE(ok(launch("write", {}, stream, write_kernel<T>, x, at)));
    stream.synchronize();
  }
};
using Types = testing::Types<unsigned char, float, double>;
TYPED_TEST_SUITE(GuardedReads, Types);

TYPED_TEST(GuardedReads, EveryElementIsAccessible) {
  for (const int64_t offset : {0, 1, 2, 3})
    for (const int64_t size : {1, 2, 3, 7, 8, 9}) {
      GuardedBuffer<TypeParam> buffer(this->numbers(size), offset);
      EXPECT_EQ(this->sum(buffer.data(), size, kNowhere), static_cast<TypeParam>(size * (size + 1) / 2));
      for (int64_t i = 0; i < size; ++i) this->write(buffer.data(), i);
      EXPECT_EQ(buffer.download(), std::vector<TypeParam>(static_cast<size_t>(size)));
    }
}

// The test can access the whole buffer, and the kernel every row, at any beginning of a row.
TYPED_TEST(GuardedReads, EveryRowIsAccessible) {
  for (const int64_t first : {0, 1, 2})
    for (const int64_t cols : {1, 3, 4})
      for (const int64_t gap : {0, 1, 2, 7}) {
        const int64_t stride = cols + gap, rows = 3, size = first + rows * stride;
        GuardedBuffer<TypeParam> buffer(this->numbers(size), first);
        const MatrixView<TypeParam> matrix = buffer.matrix(rows, cols, stride, first);
        for (int64_t row = 0; row < rows; ++row) {
          const int64_t least = first + row * stride + 1;
          EXPECT_EQ(this->sum(matrix.data + row * stride, cols, kNowhere),
                    static_cast<TypeParam>(cols * least + cols * (cols - 1) / 2));
        }
        EXPECT_EQ(buffer.download(), this->numbers(size));
      }
}

#ifdef RONDO_POISONS_FOR_SANITIZER

template <class T>
class GuardedReadsDeathTest : public GuardedReads<T> {
 protected:
  GuardedReadsDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  // The number of elements in 7 bytes: so many can stay accessible before a misaligned element.
  static constexpr int64_t kOpen = 8 / sizeof(T) - 1;
};
using ShortTypes = testing::Types<unsigned char, float>;  // each report takes its time
TYPED_TEST_SUITE(GuardedReadsDeathTest, ShortTypes);

constexpr const char* kRead = "AddressSanitizer: use-after-poison(.|\n)*READ of size(.|\n)*read_kernel";
constexpr const char* kWrite = "AddressSanitizer: use-after-poison(.|\n)*WRITE of size(.|\n)*write_kernel";

TYPED_TEST(GuardedReadsDeathTest, DetectsAccessesOnBothSides) {
  for (const int64_t offset : {0, 1})
    for (const int64_t size : {0, 5}) {
      GuardedBuffer<TypeParam> buffer(this->numbers(size), offset);
      const int64_t before = offset == 0 ? -1 : -1 - this->kOpen;
      EXPECT_DEATH(this->sum(buffer.data(), size, size), kRead);
      EXPECT_DEATH(this->sum(buffer.data(), size, before), kRead);
      EXPECT_DEATH(this->write(buffer.data(), before), kWrite);
    }
}

TYPED_TEST(GuardedReadsDeathTest, DetectsAccessesBetweenRows) {
  constexpr int64_t kCols = 5, kGap = 2 * (this->kOpen + 1), kStride = kCols + kGap, kFirst = kGap;
  GuardedBuffer<TypeParam> buffer(this->numbers(kFirst + 3 * kStride));
  const MatrixView<TypeParam> matrix = buffer.matrix(3, kCols, kStride, kFirst);
  for (const int64_t row : {0, 2}) {
    TypeParam* begin = matrix.data + row * kStride;
    EXPECT_DEATH(this->sum(begin, kCols, kCols), kRead) << row;
    EXPECT_DEATH(this->sum(begin, kCols, -1 - this->kOpen), kRead) << row;
    EXPECT_DEATH(this->write(begin, kCols), kWrite) << row;
  }
  EXPECT_DEATH(this->sum(buffer.data(), 1, kNowhere), kRead);
  static_cast<void>(buffer.download());  // poisons again afterwards
  EXPECT_DEATH(this->sum(matrix.data, kCols, kCols), kRead);
}

TYPED_TEST(GuardedReadsDeathTest, DetectsCopiesAndFills) {
  GuardedBuffer<TypeParam> from(this->numbers(5)), to(5);
  const size_t bytes = 6 * sizeof(TypeParam);
  std::vector<TypeParam> host(6);
  EXPECT_DEATH(cudaMemcpy(host.data(), from.data(), bytes, cudaMemcpyDeviceToHost), "use-after-poison");
  EXPECT_DEATH(cudaMemcpy(to.data(), host.data(), bytes, cudaMemcpyHostToDevice), "use-after-poison");
  EXPECT_DEATH(
      (cudaMemcpy(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice), cudaDeviceSynchronize()),
      "use-after-poison");
  EXPECT_DEATH((cudaMemset(to.data(), 0, bytes), cudaDeviceSynchronize()), "use-after-poison");
}

#endif

}  // namespace
}  // namespace rondo::test
