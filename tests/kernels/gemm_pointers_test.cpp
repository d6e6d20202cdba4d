// gemm_batched(): drawn batches of every arithmetic, whose matrices are aligned differently, against double
// precision and against gemm_strided_batched() of each matrix.
#include <gtest/gtest.h>

#include <rondo/tests/kernels/drawn_products.h>
#include <rondo/tests/kernels/reference/gemm_reference.h>
#include <rondo/tests/support/compare.h>

#include <memory>
#include <string>
#include <vector>

namespace rondo::test {
namespace {

// Matrices in memory of their own, each at its own alignment, and the array of their addresses.
template <class T>
class Matrices {
 public:
  Matrices(int64_t rows, int64_t cols, int64_t stride) : rows_(rows), cols_(cols), stride_(stride) {}

  void add(const std::vector<float>& values, int64_t offset) {
    buffers_.push_back(std::make_unique<GuardedBuffer<T>>(rounded<T>(values), offset));
    addresses_.push_back(buffers_.back()->data());
    array_ = std::make_unique<Buffer<T*>>(addresses_);
  }
  MatrixPointersView<T> view() const {
    return {array_ ? array_->data() : nullptr, std::ssize(addresses_), rows_, cols_, stride_};
  }
  MatrixBatchView<T> one(size_t i) const { return {addresses_[i], 1, rows_, cols_, stride_, 0}; }
  std::vector<T> download(size_t i) const { return buffers_[i]->download(); }

 private:
  int64_t rows_, cols_, stride_;
  std::vector<std::unique_ptr<GuardedBuffer<T>>> buffers_;
  std::vector<T*> addresses_;
  std::unique_ptr<Buffer<T*>> array_;
};

template <class A>
class DrawnPointers : public testing::Test {
 protected:
  void SetUp() override {
    if (!ProductDraws<A>::supported()) GTEST_SKIP() << "the device has no such products";
  }
};
TYPED_TEST_SUITE(DrawnPointers, ProductArithmetics, NameOfArithmetic);

TYPED_TEST(DrawnPointers, AreWithinTheBoundAndHaveTheBitsOfStridedBatches) {
  using T = typename TypeParam::T;
  using C = typename TypeParam::C;
  Random random(ProductDraws<TypeParam>::seed() + 11);
  for (int draw = 0; draw < 60; ++draw) {
    const int64_t batches = random.below(5);
    const auto flip = [&] { return random.below(2) != 0; };
    // Half of the sizes are multiples of 16 bytes, whose copies depend on the addresses alone.
    const auto size = [&](int64_t most) {
      return random.below(12) == 0 ? 0 : flip() ? 8 * random.below(most / 8) : random.below(most);
    };
    const GemmShape shape = {size(90), size(90), size(140)};
    const auto [m, n, k] = shape;
    GemmOptions options = {.transpose_a = flip(),
                           .transpose_b = flip(),
                           .alpha = random.below(8) == 0 ? 0.0f
                                    : flip()             ? 1.0f
                                                         : static_cast<float>(random.normal()),
                           .beta = flip() ? 0.0f : static_cast<float>(random.normal()),
                           .activation = static_cast<Activation>(random.below(5)),
                           .math = TypeParam::kMath};
    const bool with_residual = random.below(3) == 0, in_place = with_residual && flip();
    if (with_residual) options.beta = 0;
    const auto some = [&](int64_t below) { return flip() ? 0 : random.below(below); };
    const int64_t a_rows = options.transpose_a ? k : m, b_rows = options.transpose_b ? n : k;
    const int64_t a_stride = m + k - a_rows + some(9), b_stride = n + k - b_rows + some(9),
                  c_stride = n + some(9);
    SCOPED_TRACE(concat("draw ", draw, ": ", batches, " of ", m, " x ", n, " x ", k,
                        options.transpose_a ? ", A^T" : "", options.transpose_b ? ", B^T" : "", ", strides ",
                        a_stride, " ", b_stride, " ", c_stride, with_residual ? ", residual" : "",
                        in_place ? " in place" : ""));
    Matrices<T> a(a_rows, m + k - a_rows, a_stride), b(b_rows, n + k - b_rows, b_stride);
    Matrices<C> c(m, n, c_stride), want(m, n, c_stride), residual(m, n, c_stride);
    std::vector<std::vector<float>> a_values, b_values, c_values;
    const bool reads_c = options.beta != 0 || in_place;
    for (int64_t i = 0; i < batches; ++i) {
      const auto seed = static_cast<uint64_t>(10 * i);
      a_values.push_back(without_ties(representable<T>(a_rows * a_stride, seed + 1)));
      b_values.push_back(without_ties(representable<T>(b_rows * b_stride, seed + 2)));
      c_values.push_back(representable<C>(m * c_stride, seed + 3));
      const std::vector<float> not_read(c_values.back().size(), NAN);
      a.add(options.alpha == 0 ? std::vector<float>(a_values.back().size(), NAN) : a_values.back(), some(8));
      b.add(b_values.back(), some(8));
      const int64_t offset = some(8);
      c.add(reads_c ? c_values.back() : not_read, offset);
      want.add(reads_c ? c_values.back() : not_read, offset);
      if (with_residual) residual.add(c_values.back(), some(8));
    }
    std::vector<float> bias;
    if (flip()) bias = normal_values(n, 4);
    const GuardedBuffer<float> dbias(bias);
    if (!bias.empty()) options.bias = {dbias.data(), n};
    const auto with = [&](const GemmResidual& values) {
      GemmOptions all = options;
      if (with_residual) all.residual = values;
      return all;
    };
    const Stream stream;
    ASSERT_TRUE(
        ok(gemm_batched(c.view(), a.view(), b.view(), with(in_place ? c.view() : residual.view()), stream)));
    for (size_t i = 0; i < static_cast<size_t>(batches); ++i) {
      SCOPED_TRACE(concat("matrix ", i));
      const GemmResidual other = !with_residual ? GemmResidual() : in_place ? want.one(i) : residual.one(i);
      ASSERT_TRUE(ok(gemm_strided_batched(want.one(i), a.one(i), b.one(i), with(other), stream)));
      const std::vector<C> all = c.download(i);
      ASSERT_TRUE(all_equal_bits(all, want.download(i)));
      if (m == 0 || n == 0) continue;
      std::vector<float> of_a = a_values[i], of_b = b_values[i];
      if (TypeParam::kMath == Math::tf32) of_a = nearest_tf32(of_a), of_b = nearest_tf32(of_b);
      GemmOptions exact = options;
      if (with_residual) exact.beta = 1;
      const GemmReference expected =
          gemm_reference(shape, of_a, a_stride, of_b, b_stride, c_values[i], c_stride, exact, bias);
      std::vector<C> got;
      for (int64_t row = 0; row < m; ++row)
        for (int64_t column = 0; column < n; ++column)
          got.push_back(all[static_cast<size_t>(row * c_stride + column)]);
      ASSERT_TRUE(ProductDraws<TypeParam>::within_the_bound(got, expected, k, options.activation));
    }
  }
}

// Without summands the arrays of A and B are not read: they may be null if the matrices have no elements, and
// hold anything if alpha is 0.
TEST(GemmBatched, ReadsNoPointersWithoutSummands) {
  const Stream stream;
  Matrices<float> c(3, 5, 5);
  for (int i = 0; i < 2; ++i) c.add(std::vector<float>(15, 7), i);
  ASSERT_TRUE(ok(gemm_batched(c.view(), MatrixPointersView<const float>{nullptr, 2, 3, 0},
                              MatrixPointersView<const float>{nullptr, 2, 0, 5}, {.beta = 2}, stream)));
  for (const size_t i : {0, 1}) EXPECT_TRUE(all_equal_bits(c.download(i), std::vector<float>(15, 14)));
  const auto* const nowhere = reinterpret_cast<const float* const*>(uintptr_t{16});
  ASSERT_TRUE(ok(gemm_batched(c.view(), MatrixPointersView<const float>{nowhere, 2, 3, 0},
                              MatrixPointersView<const float>{nowhere, 2, 0, 5}, {.beta = 0.5f}, stream)));
  for (const size_t i : {0, 1}) EXPECT_TRUE(all_equal_bits(c.download(i), std::vector<float>(15, 7)));
  const Buffer<const float*> wild(
      std::vector<const float*>(2, reinterpret_cast<const float*>(uintptr_t{12})));
  ASSERT_TRUE(ok(gemm_batched(c.view(), MatrixPointersView<const float>{wild.data(), 2, 3, 4},
                              MatrixPointersView<const float>{wild.data(), 2, 4, 5}, {.alpha = 0}, stream)));
  for (const size_t i : {0, 1}) EXPECT_TRUE(all_equal_bits(c.download(i), std::vector<float>(15, 0)));
}

// More products than a grid has blocks in y or z, of one matrix A.
TEST(GemmBatched, ManySmallProducts) {
  constexpr int64_t kBatches = 70000;
  const std::vector<float> a = {3, -5}, b = exact_values(kBatches * 2, 2);
  const GuardedBuffer<float> da(a), db(b);
  GuardedBuffer<float> dc(kBatches);
  std::vector<const float*> a_at, b_at;
  std::vector<float*> c_at;
  for (int64_t i = 0; i < kBatches; ++i)
    a_at.push_back(da.data()), b_at.push_back(db.data() + 2 * i), c_at.push_back(dc.data() + i);
  const Buffer<const float*> all_a(a_at), all_b(b_at);
  const Buffer<float*> all_c(c_at);
  const Stream stream;
  ASSERT_TRUE(ok(gemm_batched(MatrixPointersView<float>{all_c.data(), kBatches, 1, 1},
                              MatrixPointersView<const float>{all_a.data(), kBatches, 1, 2},
                              MatrixPointersView<const float>{all_b.data(), kBatches, 2, 1}, {}, stream)));
  std::vector<float> want;
  for (size_t i = 0; i < kBatches; ++i) want.push_back(0.0f + a[0] * b[2 * i] + a[1] * b[2 * i + 1]);
  EXPECT_TRUE(all_equal_bits(dc.download(), want));
}

TEST(GemmBatched, RefusesWhatIsWrong) {
  Matrices<float> a(4, 5, 5), b(5, 6, 6), c(4, 6, 6);
  for (int i = 0; i < 3; ++i) {
    a.add(std::vector<float>(20, 1), 0);
    b.add(std::vector<float>(30, 1), 0);
    c.add(std::vector<float>(24, 1), 0);
  }
  const Stream stream;
  const auto call = [&](MatrixPointersView<float> vc, MatrixPointersView<float> va,
                        MatrixPointersView<float> vb, const GemmOptions& options = {}) {
    return gemm_batched(vc, va, vb, options, stream).message();
  };
  const MatrixPointersView<float> va = a.view(), vb = b.view(), vc = c.view();
  EXPECT_EQ(call(vc, va, vb), "");
  EXPECT_EQ(call(vc, {va.data, 2, 4, 5}, vb), "gemm_batched: a has 2 matrices, must have as many as c, 3");
  EXPECT_EQ(call(vc, va, {vb.data, 1, 5, 6}), "gemm_batched: b has 1 matrix, must have as many as c, 3");
  EXPECT_EQ(call({vc.data, -1, 4, 6}, {va.data, -1, 4, 5}, {vb.data, -1, 5, 6}),
            "gemm_batched: a.batches is -1, must not be negative");
  EXPECT_EQ(call({vc.data, 3, 4, 6, 5}, va, vb), "gemm_batched: c.stride is 5, must be at least cols = 6");
  EXPECT_EQ(call({vc.data, 3, 4, 7}, va, vb),
            "gemm_batched: c is 4 x 7, must be 4 x 6, the rows of op(a) and the columns of op(b)");
  EXPECT_EQ(call({nullptr, 3, 4, 6}, va, vb), "gemm_batched: c is null with 3 elements");
  constexpr int64_t kHuge = int64_t{1} << 60;
  EXPECT_EQ(call({vc.data, kHuge, 4, 6}, {va.data, kHuge, 4, 5}, {vb.data, kHuge, 5, 6}),
            "gemm_batched: a is 1152921504606846976 elements of 8 bytes, must span at most 2^57 bytes");
  // Residuals: of another kind, number or stride.
  EXPECT_EQ(call(vc, va, vb, {.residual = vc}), "");
  EXPECT_EQ(call(vc, va, vb, {.beta = 1, .residual = vc}),
            "gemm_batched: beta is 1, must be 0 with a residual");
  EXPECT_EQ(call(vc, va, vb, {.residual = c.one(0)}),
            "gemm_batched: residual is a view of matrices, must be one of pointers like c");
  EXPECT_EQ(call(vc, va, vb, {.residual = MatrixPointersView<float>{vc.data, 2, 4, 6}}),
            "gemm_batched: residual is 2 x 4 x 6, must be 3 x 4 x 6 like c");
  EXPECT_EQ(call(vc, va, vb, {.residual = MatrixPointersView<float>{vc.data, 3, 4, 6, 7}}),
            "gemm_batched: residual.stride is 7, must be c.stride = 6");
  EXPECT_EQ(gemm_strided_batched(c.one(0), a.one(0), b.one(0), {.residual = vc}, stream).message(),
            "gemm_strided_batched: residual is a view of pointers, must be one of matrices like c");
  // 2^31 tiles are more than a grid has.
  constexpr int64_t kMany = int64_t{1} << 31;
  EXPECT_NE(call({vc.data, kMany, 4, 6}, {va.data, kMany, 4, 5}, {vb.data, kMany, 5, 6}), "");
}

}  // namespace
}  // namespace rondo::test
