// gemm_strided_batched(): drawn batches of every arithmetic against double precision, and against gemm().
#include <gtest/gtest.h>

#include <rondo/tests/kernels/drawn_products.h>
#include <rondo/tests/kernels/reference/gemm_reference.h>
#include <rondo/tests/support/compare.h>

#include <string>
#include <vector>

namespace rondo::test {
namespace {

// How the matrices of an operand lie: one after the other with a gap, as column ranges of one matrix, or (not
// of c) one matrix for all.
enum class Placement { blocks, columns, same };

struct Operand {
  int64_t rows, cols, stride, batch_stride, offset;

  int64_t elements(int64_t batches) const {
    if (batches == 0 || rows == 0 || cols == 0) return 0;
    return (batches - 1) * batch_stride + (rows - 1) * stride + cols;
  }
  template <class T>
  MatrixBatchView<T> view(T* data, int64_t batches) const {
    return {data, batches, rows, cols, stride, batch_stride};
  }
};

Operand drawn_operand(Random& random, int64_t batches, int64_t rows, int64_t cols, bool written) {
  const auto placement = static_cast<Placement>(random.below(written ? 2 : 3));
  const auto some = [&](int64_t below) { return random.below(2) == 0 ? 0 : random.below(below); };
  Operand operand = {rows, cols, cols + some(9), 0, some(8)};
  if (placement == Placement::columns) {
    operand.batch_stride = cols + some(5);
    operand.stride = std::max<int64_t>(1, batches) * operand.batch_stride + some(5);
  } else if (placement == Placement::blocks) {
    operand.batch_stride = rows * operand.stride + some(20);
  }
  return operand;
}

template <class A>
class DrawnBatches : public testing::Test {
 protected:
  void SetUp() override {
    if (!ProductDraws<A>::supported()) GTEST_SKIP() << "the device has no such products";
  }
};

TYPED_TEST_SUITE(DrawnBatches, ProductArithmetics, NameOfArithmetic);

// `count` values from `first` on, as many as there are.
template <class T>
std::vector<T> from(const std::vector<T>& values, int64_t first, int64_t count) {
  const auto begin = values.begin() + std::min<int64_t>(first, std::ssize(values));
  return {begin, begin + std::min<int64_t>(count, values.end() - begin)};
}

TYPED_TEST(DrawnBatches, WithinTheBound) {
  using T = typename TypeParam::T;
  using C = typename TypeParam::C;
  Random random(ProductDraws<TypeParam>::seed() + 7);
  for (int draw = 0; draw < 60; ++draw) {
    const int64_t batches = random.below(6);
    const GemmShape shape = {random.below(90), random.below(90),
                             random.below(8) == 0 ? 0 : random.below(140)};
    const auto [m, n, k] = shape;
    const auto flip = [&] { return random.below(2) != 0; };
    GemmOptions options = {.transpose_a = flip(),
                           .transpose_b = flip(),
                           .alpha = flip() ? 1.0f : static_cast<float>(random.normal()),
                           .beta = flip() ? 0.0f : static_cast<float>(random.normal()),
                           .activation = static_cast<Activation>(random.below(5)),
                           .math = TypeParam::kMath};
    const Operand a = options.transpose_a ? drawn_operand(random, batches, k, m, false)
                                          : drawn_operand(random, batches, m, k, false);
    const Operand b = options.transpose_b ? drawn_operand(random, batches, n, k, false)
                                          : drawn_operand(random, batches, k, n, false);
    const Operand c = drawn_operand(random, batches, m, n, true);
    SCOPED_TRACE(concat("draw ", draw, ": ", batches, " of ", m, " x ", n, " x ", k,
                        options.transpose_a ? ", A^T" : "", options.transpose_b ? ", B^T" : "", ", strides ",
                        a.stride, " ", b.stride, " ", c.stride, ", batch strides ", a.batch_stride, " ",
                        b.batch_stride, " ", c.batch_stride));
    std::vector<float> a_values = without_ties(representable<T>(a.elements(batches), 1)),
                       b_values = without_ties(representable<T>(b.elements(batches), 2)), bias;
    const std::vector<float> c_values = representable<C>(c.elements(batches), 3);
    if (flip()) bias = normal_values(n, 4);
    const GuardedBuffer<T> da(rounded<T>(a_values), a.offset), db(rounded<T>(b_values), b.offset);
    GuardedBuffer<C> dc(rounded<C>(c_values), c.offset);
    const GuardedBuffer<float> dbias(bias);
    if (!bias.empty()) options.bias = {dbias.data(), n};
    const Stream stream;
    ASSERT_TRUE(ok(gemm_strided_batched(c.view(dc.data(), batches), a.view(da.data(), batches),
                                        b.view(db.data(), batches), options, stream)));
    const std::vector<C> all = dc.download();

    if (TypeParam::kMath == Math::tf32) a_values = nearest_tf32(a_values), b_values = nearest_tf32(b_values);
    std::vector<bool> is_result(all.size());
    for (int64_t batch = 0; batch < batches && m > 0 && n > 0; ++batch) {
      SCOPED_TRACE(concat("matrix ", batch));
      const GemmReference expected =
          gemm_reference(shape, from(a_values, batch * a.batch_stride, a.elements(1)), a.stride,
                         from(b_values, batch * b.batch_stride, b.elements(1)), b.stride,
                         from(c_values, batch * c.batch_stride, c.elements(1)), c.stride, options, bias);
      std::vector<C> got;
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          const auto at = static_cast<size_t>(batch * c.batch_stride + i * c.stride + j);
          is_result[at] = true;
          got.push_back(all[at]);
        }
      ASSERT_TRUE(ProductDraws<TypeParam>::within_the_bound(got, expected, k, options.activation));
    }
    std::vector<C> gaps, gaps_before;
    for (size_t i = 0; i < all.size(); ++i)
      if (!is_result[i]) gaps.push_back(all[i]), gaps_before.push_back(static_cast<C>(c_values[i]));
    ASSERT_TRUE(all_equal_bits(gaps, gaps_before)) << "wrote between the matrices";
  }
}

// Rows that are aligned in the first matrix need not be in the others.
template <class T>
void check_batch_strides_of_every_alignment() {
  if (!check_factor_type("", dtype_of<T>).ok()) return;
  constexpr int64_t kBatches = 3, kSide = 32, kSize = kSide * kSide;
  const Stream stream;
  for (int64_t gaps = 0; gaps < 27; ++gaps) {
    const int64_t distance[] = {kSize + gaps % 3, kSize + gaps / 3 % 3, kSize + gaps / 9};
    SCOPED_TRACE(
        concat(name_of(dtype_of<T>), ", batch strides ", distance[0], " ", distance[1], " ", distance[2]));
    const std::vector<float> a = representable<T>(kBatches * distance[0], 1),
                             b = representable<T>(kBatches * distance[1], 2);
    const GuardedBuffer<T> da(rounded<T>(a)), db(rounded<T>(b));
    GuardedBuffer<float> dc((kBatches - 1) * distance[2] + kSize);
    const auto view = [&]<class E>(E* data, int which) {
      return MatrixBatchView<E>{data, kBatches, kSide, kSide, kSide, distance[which]};
    };
    ASSERT_TRUE(
        ok(gemm_strided_batched(view(dc.data(), 2), view(da.data(), 0), view(db.data(), 1), {}, stream)));
    const std::vector<float> all = dc.download();
    for (int64_t i = 0; i < kBatches; ++i) {
      const GemmReference expected =
          gemm_reference({kSide, kSide, kSide}, from(a, i * distance[0], kSize), kSide,
                         from(b, i * distance[1], kSize), kSide, std::vector<float>(kSize), kSide, {}, {});
      using Draws = ProductDraws<ProductArithmetic<T, float, Math::fp32>>;
      EXPECT_TRUE(Draws::within_the_bound(from(all, i * distance[2], kSize), expected, kSide))
          << "matrix " << i;
    }
  }
}
TEST(GemmStridedBatched, BatchStridesOfEveryAlignment) {
  check_batch_strides_of_every_alignment<float>();
  check_batch_strides_of_every_alignment<__nv_bfloat16>();
  check_batch_strides_of_every_alignment<__half>();
}

// More products than a grid has blocks in y or z.
TEST(GemmStridedBatched, ManySmallProducts) {
  constexpr int64_t kBatches = 70000;
  const std::vector<float> a = exact_values(kBatches * 2, 1), b = exact_values(kBatches * 2, 2);
  const GuardedBuffer<float> da(a), db(b);
  GuardedBuffer<float> dc(kBatches);
  const Stream stream;
  ASSERT_TRUE(ok(gemm_strided_batched(MatrixBatchView<float>{dc.data(), kBatches, 1, 1},
                                      MatrixBatchView<const float>{da.data(), kBatches, 1, 2},
                                      MatrixBatchView<const float>{db.data(), kBatches, 2, 1}, {}, stream)));
  std::vector<float> want;
  for (size_t i = 0; i < kBatches; ++i)
    want.push_back(0.0f + a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1]);
  EXPECT_TRUE(all_equal_bits(dc.download(), want));
}

// In fp32, sums of one part have the bits of gemm(), whatever the tiles.
TEST(GemmStridedBatched, HasTheBitsOfGemm) {
  constexpr int64_t kBatches = 7, kM = 65, kN = 50, kK = 64;
  const GuardedBuffer<float> a(normal_values(kBatches * kM * kK, 1)), b(normal_values(kBatches * kK * kN, 2));
  GuardedBuffer<float> c(kBatches * kM * kN), one(kM * kN);
  ASSERT_EQ(split_k({kM, kN, kK}).splits, 1);
  const Stream stream;
  ASSERT_TRUE(ok(gemm_strided_batched(MatrixBatchView<float>{c.data(), kBatches, kM, kN},
                                      MatrixBatchView<const float>{a.data(), kBatches, kM, kK},
                                      MatrixBatchView<const float>{b.data(), kBatches, kK, kN}, {}, stream)));
  const std::vector<float> all = c.download();
  for (int64_t i = 0; i < kBatches; ++i) {
    ASSERT_TRUE(ok(gemm(matrix(one.data(), kM, kN), matrix<const float>(a.data() + i * kM * kK, kM, kK),
                        matrix<const float>(b.data() + i * kK * kN, kK, kN), {}, {}, stream)));
    EXPECT_TRUE(all_equal_bits(from(all, i * kM * kN, kM * kN), one.download())) << i;
  }
}

TEST(GemmStridedBatched, RefusesWhatIsWrong) {
  GuardedBuffer<float> memory(4000);
  float* const x = memory.data();
  const Stream stream;
  const auto call = [&](MatrixBatchView<float> c, MatrixBatchView<float> a, MatrixBatchView<float> b) {
    return gemm_strided_batched(c, a, b, {}, stream).message();
  };
  const MatrixBatchView<float> a = {x + 1000, 3, 4, 5}, b = {x + 2000, 3, 5, 6}, c = {x, 3, 4, 6};
  EXPECT_EQ(call(c, a, b), "");
  EXPECT_EQ(call(c, {x + 1000, 2, 4, 5}, b),
            "gemm_strided_batched: a has 2 matrices, must have as many as c, 3");
  EXPECT_EQ(call(c, a, {x + 2000, 1, 5, 6}),
            "gemm_strided_batched: b has 1 matrix, must have as many as c, 3");
  EXPECT_EQ(call({x, 3, 4, 6, 5}, a, b), "gemm_strided_batched: c.stride is 5, must be at least cols = 6");
  EXPECT_EQ(call({x, 3, 4, 6, 6, -1}, a, b),
            "gemm_strided_batched: c.batch_stride is -1, must not be negative");
  EXPECT_EQ(
      call({x, 3, 4, 6, 6, 23}, a, b),
      "gemm_strided_batched: c.batch_stride is 23, must be at least 24, the elements of a matrix with their "
      "gaps, or 6 or more where all 3 matrices fit side by side into the stride of 6");
  EXPECT_EQ(
      call({x, 3, 4, 6, 17, 6}, a, b),
      "gemm_strided_batched: c.batch_stride is 6, must be at least 57, the elements of a matrix with their "
      "gaps, or 6 or more where all 3 matrices fit side by side into the stride of 17");
  EXPECT_EQ(call({x, 3, 4, 6, 18, 6}, a, b), "");
  EXPECT_EQ(call({x, 3, 4, 6, 18, 5}, a, b).substr(0, 46), "gemm_strided_batched: c.batch_stride is 5, mus");
  // The last of 72 results, and the first element behind them.
  EXPECT_EQ(call(c, {x + 71, 3, 4, 5}, b), "gemm_strided_batched: c overlaps a, must lie apart");
  EXPECT_EQ(call(c, {x + 72, 3, 4, 5}, b), "");
  // Column ranges of one matrix: results beside a factor, and over its first column.
  EXPECT_EQ(call({x, 3, 4, 6, 25, 6}, {x + 18, 3, 4, 5, 25, 100}, b), "");
  EXPECT_EQ(call({x, 3, 4, 6, 25, 6}, {x + 17, 3, 4, 5, 25, 100}, b),
            "gemm_strided_batched: c overlaps a, must lie apart");
  // One matrix of a for all.
  EXPECT_EQ(call(c, {x + 72, 3, 4, 5, 5, 0}, b), "");
  EXPECT_EQ(
      call(c, {x + 1000, 3, 4, 5, 5, int64_t{1} << 60}, b),
      "gemm_strided_batched: a is 3 x 4 x 5 elements of 4 bytes with a stride of 5 and a batch_stride of "
      "1152921504606846976, must span at most 2^57 bytes");
}

}  // namespace
}  // namespace rondo::test
