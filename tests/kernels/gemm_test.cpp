// Every step of the GEMM ladder and gemm() itself have the same contract, so they share the tests.
// Above 400 lines because of that.
#include <gtest/gtest.h>

#include <rondo/kernels/gemm/gemm.h>
#include <rondo/kernels/gemm/ladder/gemm_variants.h>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rungs.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tests/kernels/factor_kinds.h>
#include <rondo/tests/kernels/launch_names.h>
#include <rondo/tests/kernels/product_errors.h>
#include <rondo/tests/kernels/products_by_tile.h>
#include <rondo/tests/kernels/reference/gemm_reference.h>
#include <rondo/tests/kernels/tf32_values.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>

// GoogleTest prints a parameter with this; the text is also the test's name.
namespace rondo {
void PrintTo(const GemmVariant& variant, std::ostream* out) { *out << variant.id; }
void PrintTo(const TileInfo& tile, std::ostream* out) {
  std::string name = name_of(tile.id);
  std::ranges::replace(name, ' ', '_');
  *out << name;
}
}  // namespace rondo

namespace rondo::test {
namespace {

// One problem with its operands on the device. Strides are the columns plus `padding`, and pointers are
// `offset` floats away from 256-byte alignment. The gaps between the rows of A and B are NaN.
struct Problem {
  GemmShape shape;
  GemmOptions options;
  int64_t padding = 0;
  int64_t offset = 0;
  bool with_bias = false;
  int64_t stride_multiple = 1;  // strides are rounded up to it

  int64_t a_rows() const { return options.transpose_a ? shape.k : shape.m; }
  int64_t a_cols() const { return options.transpose_a ? shape.m : shape.k; }
  int64_t b_rows() const { return options.transpose_b ? shape.n : shape.k; }
  int64_t b_cols() const { return options.transpose_b ? shape.k : shape.n; }
  int64_t stride(int64_t cols) const {
    return (cols + padding + stride_multiple - 1) / stride_multiple * stride_multiple;
  }
};

std::string describe(const Problem& p) {
  return concat(p.shape.m, " x ", p.shape.n, " x ", p.shape.k, p.options.transpose_a ? ", A^T" : "",
                p.options.transpose_b ? ", B^T" : "", ", alpha ", p.options.alpha, ", beta ", p.options.beta,
                p.with_bias ? ", bias" : "", ", ", name_of(p.options.activation), ", padding ", p.padding,
                ", offset ", p.offset, ", strides in multiples of ", p.stride_multiple);
}

// rows x stride values, of which the first `cols` of each row are the matrix and the others NaN.
std::vector<float> with_gaps(std::vector<float> values, int64_t cols, int64_t stride) {
  for (size_t i = 0; i < values.size(); ++i)
    if (static_cast<int64_t>(i) % stride >= cols) values[i] = NAN;
  return values;
}

// The rungs of wgmma take only what tensor maps describe, and tf32 only along k. Said here a second time.
bool uses_wgmma(const GemmVariant& variant) {
  const std::string id = variant.id;
  return id.starts_with("tc_05") || id.starts_with("tc_06") || id.starts_with("tc_07") ||
         id.starts_with("tc_08") || id.starts_with("tc_09");
}
bool wgmma_takes(const Problem& p, const float* a, const float* b) {
  if (p.shape.m * p.shape.n * p.shape.k == 0 || p.options.alpha == 0) return true;
  const auto fits = [&](const float* data, int64_t cols) {
    return reinterpret_cast<uintptr_t>(data) % 16 == 0 && p.stride(cols) % 4 == 0;
  };
  return !p.options.transpose_a && p.options.transpose_b && fits(a, p.a_cols()) && fits(b, p.b_cols());
}
// A problem that every variant takes, like this one.
Problem taken_by(const GemmVariant& variant, Problem p) {
  if (!uses_wgmma(variant)) return p;
  p.options.transpose_a = false;
  p.options.transpose_b = true;
  p.stride_multiple = 4;
  p.offset = 0;
  return p;
}

// Runs the problem and compares with the reference: exactly if `exact`, else within the bound of gemm.h.
// The gaps between the rows of C must not change.
void check(const GemmVariant& variant, const Problem& p, bool exact) {
  const auto values = [&](int64_t size, uint64_t seed) {
    return exact ? exact_values(size, seed) : normal_values(size, seed);
  };
  const int64_t a_stride = p.stride(p.a_cols()), b_stride = p.stride(p.b_cols()),
                c_stride = p.stride(p.shape.n);
  const std::vector<float> a = with_gaps(values(p.a_rows() * a_stride, 1), p.a_cols(), a_stride),
                           b = with_gaps(values(p.b_rows() * b_stride, 2), p.b_cols(), b_stride);
  const std::vector<float> bias = p.with_bias ? values(p.shape.n, 4) : std::vector<float>();
  std::vector<float> c = values(p.shape.m * c_stride, 3);
  if (p.options.beta == 0)
    for (int64_t i = 0; i < p.shape.m; ++i)
      for (int64_t j = 0; j < p.shape.n; ++j)
        c[static_cast<size_t>(i * c_stride + j)] = NAN;  // must not be read

  GuardedBuffer<float> da(a, p.offset), db(b, p.offset), dc(c, p.offset), dbias(bias, p.offset);
  if (p.options.alpha == 0) {  // A and B must not be read
    da.upload(std::vector<float>(a.size(), NAN));
    db.upload(std::vector<float>(b.size(), INFINITY));
  }
  GemmOptions most = p.options;  // the most of any math
  most.math = Math::tf32x3;
  GuardedBuffer<float> scratch(
      std::max(gemm_workspace_bytes(p.shape, most), gemm_tc_09_workspace_bytes(p.shape)) / 4);
  GemmOptions options = p.options;
  if (p.with_bias) options.bias = dbias.view();
  Stream stream;
  const Status status =
      variant.run(dc.matrix(p.shape.m, p.shape.n, c_stride), da.matrix(p.a_rows(), p.a_cols(), a_stride),
                  db.matrix(p.b_rows(), p.b_cols(), b_stride), options, scratch.workspace(), stream);
  if (uses_wgmma(variant) && !wgmma_takes(p, da.data(), db.data())) {
    ASSERT_TRUE(refused(status, "gemm_tc_04_pipelined takes it")) << variant.id << ", " << describe(p);
    EXPECT_TRUE(all_equal_bits(dc.download(), c));
    return;
  }
  ASSERT_TRUE(ok(status)) << variant.id << ", " << describe(p);

  const GemmReference expected =
      gemm_reference(p.shape, a, a_stride, b, b_stride, c, c_stride, p.options, bias);
  const std::vector<float> all = dc.download();
  std::vector<float> got, gaps, gaps_before;
  for (int64_t i = 0; i < p.shape.m; ++i)
    for (int64_t j = 0; j < c_stride; ++j) {
      const auto at = static_cast<size_t>(i * c_stride + j);
      if (j < p.shape.n) {
        got.push_back(all[at]);
      } else {
        gaps.push_back(all[at]);
        gaps_before.push_back(c[at]);
      }
    }
  // A factor of tf32 is rounded too.
  const double of_factors = std::string(variant.id).ends_with("_tf32") ? 0x1p-10 : 0;
  const double rounding = exact ? 0 : static_cast<double>(p.shape.k + 3) * 0x1p-24 + of_factors;
  EXPECT_TRUE(all_within(got, expected.values, [&](size_t i) { return rounding * expected.magnitude[i]; }))
      << variant.id << ", " << describe(p);
  EXPECT_TRUE(all_equal_bits(gaps, gaps_before)) << variant.id << " wrote between the rows, " << describe(p);
}

void check_rows_that_end_within_a_wide_copy(const GemmVariant& variant, bool transpose_a, bool transpose_b) {
  for (const GemmShape& shape : {GemmShape{6, 7, 5}, {65, 66, 70}})
    for (const int64_t multiple : {2, 4, 16, 64})
      check(variant,
            {.shape = shape,
             .options = {.transpose_a = transpose_a, .transpose_b = transpose_b},
             .stride_multiple = multiple},
            true);
}

bool is_supported(const GemmVariant& variant);

class Gemm : public testing::TestWithParam<GemmVariant> {
 protected:
  void SetUp() override {
    if (!is_supported(GetParam())) GTEST_SKIP() << "the device has no such products";
  }
};

TEST_P(Gemm, OddSizesTransposesAndAlignments) {
  const GemmShape shapes[] = {{1, 1, 1},    {1, 7, 33},     {17, 1, 5},    {33, 31, 32},   {64, 64, 64},
                              {65, 57, 70}, {129, 130, 36}, {257, 10, 20}, {20, 200, 129}, {66, 259, 164}};
  for (const GemmShape& shape : shapes)
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true})
        for (const int64_t padding : {0, 1, 2, 4})
          check(GetParam(),
                {shape,
                 {.transpose_a = transpose_a, .transpose_b = transpose_b},
                 padding,
                 padding == 4 ? 0 : padding},
                true);
}

// Rows that begin aligned for wide copies and end within one.
TEST_P(Gemm, RowsThatEndWithinAWideCopy) {
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true})
      check_rows_that_end_within_a_wide_copy(GetParam(), transpose_a, transpose_b);
}

TEST_P(Gemm, Epilogues) {
  for (const GemmShape& shape : {GemmShape{37, 29, 41}, GemmShape{128, 64, 32}})
    for (const float alpha : {1.0f, -0.5f, 0.0f})
      for (const float beta : {0.0f, 1.0f, -2.0f})
        for (const bool bias : {false, true})
          for (const bool relu : {false, true})
            check(
                GetParam(),
                taken_by(
                    GetParam(),
                    {shape,
                     {.alpha = alpha, .beta = beta, .activation = relu ? Activation::relu : Activation::none},
                     3,
                     0,
                     bias}),
                true);
}

TEST_P(Gemm, RandomValuesWithinTheBound) {
  check(GetParam(), taken_by(GetParam(), {{150, 90, 300}, {}}), false);
  const GemmOptions options = {
      .transpose_a = true, .alpha = 0.3f, .beta = 1.7f, .activation = Activation::relu};
  check(GetParam(), taken_by(GetParam(), {{90, 70, 1000}, options, 1, 1, true}), false);
}

// Each result is one factor, and no factor is a tie.
TEST_P(Gemm, FactorsOfTf32AreRoundedToNearest) {
  constexpr int64_t kM = 40, kN = 21, kK = 33, kStride = 36;
  const bool rounds = std::string(GetParam().id).ends_with("_tf32");
  std::vector<float> a(kM * kStride), expected;
  for (int64_t i = 0; i < kM; ++i) {
    const float value = (i % 2 ? -1 : 1) * (1 + static_cast<float>(2 * (i % 8) + 1) * 0x1p-14f);
    a[static_cast<size_t>(i * kStride + i % kK)] = value;
    expected.insert(expected.end(), kN, rounds ? nearest_tf32(value) : value);
  }
  const bool transpose_b = uses_wgmma(GetParam());
  GuardedBuffer<float> da(a), db(std::vector<float>(kStride * kStride, 1)), dc(kM * kN);
  Stream stream;
  ASSERT_TRUE(ok(GetParam().run(matrix(dc.data(), kM, kN), {da.data(), kM, kK, kStride},
                                {db.data(), transpose_b ? kN : kK, transpose_b ? kK : kN, kStride},
                                {.transpose_b = transpose_b}, {}, stream)));
  EXPECT_EQ(dc.download(), expected);
}

TEST_P(Gemm, EmptySums) {
  for (const float beta : {0.0f, 3.0f})
    check(GetParam(), {{9, 11, 0}, {.beta = beta, .activation = Activation::relu}, 1, 0, true}, true);
}

TEST_P(Gemm, EmptyResults) {
  Stream stream;
  const MatrixView<float> nothing = {nullptr, 0, 5, 5};
  GuardedBuffer<float> b(exact_values(15, 1));
  EXPECT_TRUE(ok(GetParam().run(nothing, {nullptr, 0, 3, 3}, matrix(b.data(), 3, 5), {}, {}, stream)));
}

TEST_P(Gemm, ANanStaysInItsRowAndColumn) {
  std::vector<float> a = exact_values(40 * 36, 1);
  a[5 * 36 + 32] = NAN;
  const bool transpose_b = uses_wgmma(GetParam());
  GuardedBuffer<float> da(a), db(exact_values(36 * 36, 2)), dc(40 * 21);
  Stream stream;
  ASSERT_TRUE(ok(GetParam().run(matrix(dc.data(), 40, 21), {da.data(), 40, 33, 36},
                                {db.data(), transpose_b ? 21 : 33, transpose_b ? 33 : 21, 36},
                                {.transpose_b = transpose_b, .activation = Activation::relu}, {}, stream)));
  const std::vector<float> c = dc.download();
  for (size_t i = 0; i < c.size(); ++i) EXPECT_EQ(std::isnan(c[i]), i / 21 == 5) << "element " << i;
}

bool is_supported(const GemmVariant& variant) {
  const bool tensor = std::string(variant.id).find("tf32") != std::string::npos;
  const bool copies = std::string(variant.id).starts_with("gemm_copies");
  if ((uses_wgmma(variant) || copies) && !check_wgmma("").ok()) return false;
  return !tensor || check_math("", Math::tf32).ok();
}

TEST_P(Gemm, RefusesBadArguments) {
  GuardedBuffer<float> a(std::vector<float>(6 * 8)), b(std::vector<float>(8 * 5));
  GuardedBuffer<float> c(6 * 5), bias(5), scratch(16);
  Stream stream;
  const MatrixView<float> va = matrix(a.data(), 6, 8), vb = matrix(b.data(), 8, 5),
                          vc = matrix(c.data(), 6, 5);
  const auto run = [&](MatrixView<float> in_c, MatrixView<float> in_a, MatrixView<float> in_b,
                       const GemmOptions& options = {}, Workspace workspace = {}) {
    return GetParam().run(in_c, in_a, in_b, options, workspace, stream);
  };
  const auto misaligned = [](float* data) {
    return reinterpret_cast<float*>(reinterpret_cast<char*>(data) + 1);
  };

  if (uses_wgmma(GetParam()))
    EXPECT_TRUE(refused(run(vc, va, vb), "transpose_b is 0, and wgmma reads tf32 along k only"));
  else
    EXPECT_TRUE(ok(run(vc, va, vb)));
  EXPECT_TRUE(
      refused(run(vc, va, {b.data(), 7, 5, 5}),
              "op(a) is 6 x 8 and op(b) is 7 x 5: op(a) must have as many columns as op(b) has rows"));
  EXPECT_TRUE(refused(run(vc, va, vb, {.transpose_a = true}), "op(a) is 8 x 6"));
  EXPECT_TRUE(refused(run({c.data(), 5, 5, 5}, va, vb),
                      "c is 5 x 5, must be 6 x 5, the rows of op(a) and the columns of op(b)"));
  EXPECT_TRUE(refused(run({c.data(), 6, 4, 5}, va, vb), "c is 6 x 4, must be 6 x 5"));
  EXPECT_TRUE(refused(run(vc, {a.data(), 6, 8, 7}, vb), "a.stride is 7"));
  EXPECT_TRUE(refused(run(vc, va, {b.data(), 8, 5, 4}), "b.stride is 4"));
  EXPECT_TRUE(refused(run({c.data(), 6, 5, -5}, va, vb), "c.stride is -5"));
  EXPECT_TRUE(refused(run(vc, {a.data(), -6, 8, 8}, vb), "a is -6 x 8"));
  EXPECT_TRUE(refused(run(vc, {a.data(), 6, 8, INT64_MAX / 4}, vb), "at most 2^57 bytes"));
  EXPECT_TRUE(refused(run(vc, {nullptr, 6, 8, 8}, vb), "a is null"));
  EXPECT_TRUE(refused(run(vc, va, {nullptr, 8, 5, 5}), "b is null"));
  EXPECT_TRUE(refused(run({nullptr, 6, 5, 5}, va, vb), "c is null"));
  EXPECT_TRUE(refused(run(vc, {misaligned(a.data()), 6, 8, 8}, vb), "a is at"));
  EXPECT_TRUE(refused(run({a.data() + 47, 6, 5, 5}, va, vb), "c overlaps a"));
  EXPECT_TRUE(refused(run({b.data(), 6, 5, 5}, va, vb), "c overlaps b"));
  EXPECT_TRUE(refused(run(vc, va, vb, {.bias = {bias.data(), 4}}), "bias has 4"));
  EXPECT_TRUE(refused(run(vc, va, vb, {.bias = {nullptr, 5}}), "bias is null"));
  EXPECT_TRUE(refused(run(vc, va, vb, {.bias = {misaligned(bias.data()), 5}}), "bias is at"));
  EXPECT_TRUE(refused(run(vc, va, vb, {.bias = {c.data() + 2, 5}}), "c overlaps bias"));
  EXPECT_TRUE(refused(run(vc, va, vb, {}, {scratch.data(), -1}), "workspace.bytes is -1"));
  EXPECT_TRUE(refused(run(vc, va, vb, {}, {nullptr, 16}), "workspace is null"));
  EXPECT_TRUE(refused(run(vc, va, vb, {}, {scratch.data() + 1, 16}), "aligned to 16"));
  EXPECT_TRUE(refused(run(vc, va, vb, {}, {c.data(), 16}), "workspace overlaps c"));
}

INSTANTIATE_TEST_SUITE_P(Ladder, Gemm, testing::ValuesIn(gemm_variants().begin(), gemm_variants().end()),
                         testing::PrintToStringParamName());

// The rungs of tensor cores, and gemm(), with another arithmetic.
template <auto run, Math math>
Status with_math(MatrixView<float> c, MatrixView<const float> a, MatrixView<const float> b,
                 const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  GemmOptions own = options;
  own.math = math;
  return run(c, a, b, own, workspace, stream);
}
constexpr Status (*kGemm)(MatrixView<float>, MatrixView<const float>, MatrixView<const float>,
                          const GemmOptions&, Workspace, cudaStream_t) = gemm;
// The tiles of the persistent rungs that gemm() chooses from, with the parts of k that it chooses.
template <TileId tile>
Status with_persistent_tile(MatrixView<float> c, MatrixView<const float> a, MatrixView<const float> b,
                            const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  GemmOptions own = options;
  if (own.math == Math::fp32) own.math = tile.arithmetic == Arithmetic::tf32x3 ? Math::tf32x3 : Math::tf32;
  return gemm_by_tile(tile, c, a, b, own, workspace, stream);
}
// Stream-K over `blocks` blocks, with a workspace of its own. The products have 1 to 4 tiles: more or fewer
// than blocks, so that tiles have one part, two or many.
template <TileId tile, int blocks>
Status with_stream_k(MatrixView<float> c, MatrixView<const float> a, MatrixView<const float> b,
                     const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  GemmOptions own = options;
  own.math = Math::tf32;
  return gemm_by_tile(tile, c, a, b, own, workspace, stream, blocks);
}
// The same with transposed copies of the operands that are not contiguous along k. Other obstacles to wgmma
// stay.
template <Math math>
Status with_copies(MatrixView<float> c, MatrixView<const float> a, MatrixView<const float> b,
                   const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  GemmOptions own = options;
  own.math = math;
  GemmArguments arguments;
  RONDO_RETURN_IF_ERROR(check_gemm("gemm", bytes_of_parts, c, a, b, own, workspace, &arguments));
  const GemmShape shape = {arguments.m, arguments.n, arguments.k};
  GemmPlan plan;
  plan.tile = wgmma_tile(arguments.arithmetic, 128, 128);
  plan.copies = TransposedCopies{options.transpose_a, !options.transpose_b};
  plan.parts = split_k(shape);
  GemmProblem problem = problem_of(arguments);
  if (plan.copies.a) problem.a = {Order::k_major, 0, 4};
  if (plan.copies.b) problem.b = {Order::k_major, 0, 4};
  if (wgmma_unsupported(problem).reason != WgmmaUnsupported::Reason::none)
    return gemm(c, a, b, own, workspace, stream);
  GuardedBuffer<std::byte> copies(workspace_bytes(shape, plan));
  const Status status = gemm_with_plan("gemm", plan, arguments, copies.workspace(), stream);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_TRUE(copies.guards_intact());
  return status;
}
constexpr Arithmetic kTf32 = Arithmetic::tf32;
constexpr auto* const kPersistentTf32x3 = with_persistent_tile<wgmma_tile(Arithmetic::tf32x3, 128, 128)>;
constexpr auto* const kPairTf32 = with_persistent_tile<wgmma_tile(kTf32, 256, 256, 2)>;
const GemmVariant kTensorVariants[] = {
    {"tc_01_tf32", "", with_math<gemm_tc_01_fragments<float>, Math::tf32>},
    {"tc_02_tf32", "", with_math<gemm_tc_02_shared_tiles<float>, Math::tf32>},
    {"tc_03_tf32", "", with_math<gemm_tc_03_ldmatrix<float>, Math::tf32>},
    {"tc_04_tf32", "", with_math<gemm_tc_04_pipelined<float>, Math::tf32>},
    {"tc_04_tf32x3", "", with_math<gemm_tc_04_pipelined<float>, Math::tf32x3>},
    {"tc_05_tf32", "", with_math<gemm_tc_05_wgmma<float>, Math::tf32>},
    {"tc_06_tf32", "", with_math<gemm_tc_06_warp_specialized<float>, Math::tf32>},
    {"tc_07_tf32", "", with_math<gemm_tc_07_persistent<float>, Math::tf32>},
    {"tc_07_128x256_tf32", "", with_persistent_tile<wgmma_tile(kTf32, 128, 256)>},
    {"tc_07_192x192_tf32", "", with_persistent_tile<wgmma_tile(kTf32, 192, 192)>},
    {"tc_07_192x176_tf32", "", with_persistent_tile<wgmma_tile(kTf32, 192, 176)>},
    {"tc_07_128x128_tf32", "", with_persistent_tile<wgmma_tile(kTf32, 128, 128)>},
    {"tc_07_128x64_tf32", "", with_persistent_tile<wgmma_tile(kTf32, 128, 64)>},
    {"tc_07_128x128_tf32x3", "", kPersistentTf32x3},
    {"tc_08_tf32", "", with_math<gemm_tc_08_clusters<float>, Math::tf32>},
    {"tc_08_2_of_128x256_tf32", "", kPairTf32},
    {"tc_09_tf32", "", with_math<gemm_tc_09_stream_k<float>, Math::tf32>},
    {"tc_09_128x256_over_3_tf32", "", with_stream_k<wgmma_tile(kTf32, 128, 256), 3>},
    {"tc_09_192x192_over_7_tf32", "", with_stream_k<wgmma_tile(kTf32, 192, 192), 7>},
    {"tc_09_192x176_over_2_tf32", "", with_stream_k<wgmma_tile(kTf32, 192, 176), 2>},
    {"tc_09_128x128_over_5_tf32", "", with_stream_k<wgmma_tile(kTf32, 128, 128), 5>},
    {"tc_09_128x64_over_3_tf32", "", with_stream_k<wgmma_tile(kTf32, 128, 64), 3>},
    {"gemm_copies_tf32", "", with_copies<Math::tf32>},
    {"gemm_copies_tf32x3", "", with_copies<Math::tf32x3>},
    {"gemm_tf32", "", with_math<kGemm, Math::tf32>},
    {"gemm_tf32x3", "", with_math<kGemm, Math::tf32x3>},
};
INSTANTIATE_TEST_SUITE_P(TensorLadder, Gemm, testing::ValuesIn(kTensorVariants),
                         testing::PrintToStringParamName());

// The table has the rungs that the tests above run.
TEST(TensorLadder, HasEveryRung) {
  ASSERT_EQ(tensor_rungs().size(), 9u);
  for (const TensorRung& rung : tensor_rungs()) {
    GuardedBuffer<float> a(6 * 8), b(8 * 5), c(6 * 5);
    const Stream stream;
    EXPECT_TRUE(refused(
        rung.tf32(matrix(c.data(), 6, 5), matrix(a.data(), 6, 8), matrix(b.data(), 8, 5), {}, {}, stream),
        concat("gemm_", rung.id, ": math is fp32")));
  }
}

// The rung of mma.sync and that of wgmma add the same three products of a step in the same order: on the
// executor they have the same bits. Their error is compared with that of strict fp32: the root mean square
// and, of these values, the largest. In sums of few products it is larger: a tensor core truncates the sum of
// 8 steps of k, however few of them there are, and fp32 rounds each sum to nearest. No document says how a
// tensor core rounds: the ratios below are limits for truncated sums and for sums rounded to nearest, both of
// PTX_TENSOR_SUMS. docs/numerics.md says from which k on they are at most 1.5.
TEST(TensorLadder, Tf32x3HasTheErrorOfFp32) {
  if (!check_wgmma("").ok()) GTEST_SKIP() << "the device has no wgmma";
  struct Ratios {
    double root_mean_square, largest;
  };
  struct Case {
    GemmShape shape;
    Ratios signed_factors, positive;  // the most that is allowed; `signed_factors`: the other two kinds
  };
  const Case cases[] = {
      {{70, 132, 1}, {3.7, 7.7}, {3.7, 7.7}},     {{70, 132, 5}, {2.05, 2.5}, {1.7, 2.5}},
      {{70, 132, 8}, {1.85, 2.5}, {1.45, 1.6}},   {{70, 132, 9}, {1.8, 2}, {1.4, 1.4}},
      {{70, 132, 12}, {1.5, 1.7}, {1.2, 1.4}},    {{70, 132, 16}, {1.4, 1.5}, {1.05, 1.1}},
      {{70, 132, 24}, {1.2, 1.1}, {0.9, 0.9}},    {{70, 132, 32}, {1.1, 1.3}, {0.8, 0.75}},
      {{70, 132, 64}, {0.85, 0.8}, {0.65, 0.65}}, {{70, 132, 520}, {0.55, 0.5}, {0.5, 0.5}},
      {{24, 20, 4096}, {0.6, 0.75}, {1.05, 1.4}},
  };
  for (const Case& test : cases)
    for (const FactorKind kind : kFactorKinds) {
      const auto& [m, n, k] = test.shape;
      const Ratios& most = kind == FactorKind::positive ? test.positive : test.signed_factors;
      SCOPED_TRACE(concat(name_of(kind), ", k = ", k));
      const int64_t stride = (k + 3) / 4 * 4;  // for tensor maps
      const auto row = [&](int64_t i) { return i / stride; };
      const std::vector<float> a = factors(kind, m * stride, 1, row), b = factors(kind, n * stride, 2, row);
      const GemmOptions options = {.transpose_b = true};
      const GemmReference exact = gemm_reference({m, n, k}, a, stride, b, stride, {}, n, options, {});
      GuardedBuffer<float> da(a), db(b), dc(m * n), scratch(gemm_workspace_bytes({m, n, k}) / 4);
      const Stream stream;
      const auto computed = [&](auto* run) {
        EXPECT_TRUE(
            ok(run(matrix(dc.data(), m, n), MatrixView<const float>{da.data(), m, k, stride},
                   MatrixView<const float>{db.data(), n, k, stride}, options, scratch.workspace(), stream)));
        return dc.download();
      };
      const auto error = [&](const std::vector<float>& got) {
        return relative_errors(got, exact.values, exact.magnitude);
      };
      const std::vector<float> by_wgmma = computed(kPersistentTf32x3);
      const std::vector<float> by_mma = computed(with_math<gemm_tc_04_pipelined<float>, Math::tf32x3>);
      const bool executor = std::string(platform()) == "cpu";
      EXPECT_TRUE(!executor || all_equal_bits(by_wgmma, by_mma));
      const RelativeErrors of_tf32x3 = error(by_wgmma), of_fp32 = error(computed(gemm_06_pipelined));
      // A large error of fp32 would allow one of tf32x3.
      EXPECT_LE(of_fp32.largest, largest_sum_error(Math::fp32, false, k));
      EXPECT_LE(of_tf32x3.root_mean_square, most.root_mean_square * of_fp32.root_mean_square);
      EXPECT_LE(of_tf32x3.largest, most.largest * of_fp32.largest);
      EXPECT_LE(of_tf32x3.largest, largest_sum_error(Math::tf32x3, true, k));
    }
}

// A product for which gemm() chooses wgmma on a device that has it and as many multiprocessors as an H100.
TEST(TensorLadder, LargeProducts) {
  if (!check_math("", Math::tf32).ok()) GTEST_SKIP() << "the device has no such products";
  const GemmShape shape = {1100, 1100, 40};
  DeviceProperties device;
  ASSERT_TRUE(ok(device_properties(&device)));
  for (const Math math : {Math::tf32, Math::tf32x3}) {
    const GemmOperand operand = {Order::k_major, 4096, 40};
    const GemmPlan plan =
        choose_gemm_plan({shape, arithmetic_of(DType::float32, math), operand, operand}, device);
    if (device.wgmma && device.multiprocessors == 132) {
      EXPECT_EQ(plan.tile.instruction, Instruction::wgmma) << name_of(math);
    }
    const GemmVariant gemm_with_math = {
        "gemm", "", math == Math::tf32 ? with_math<kGemm, Math::tf32> : with_math<kGemm, Math::tf32x3>};
    check(gemm_with_math, {.shape = shape, .options = {.transpose_b = true, .beta = 1}}, true);
  }
}

// The same with B contiguous along n, of which wgmma needs a transposed copy.
TEST(TensorLadder, LargeProductsWithACopy) {
  if (!check_math("", Math::tf32).ok()) GTEST_SKIP() << "the device has no such products";
  const GemmShape shape = {4224, 1024, 256};
  const std::vector<float> a = exact_values(shape.m * shape.k, 1), b = exact_values(shape.k * shape.n, 2);
  const GemmOptions options = {.math = Math::tf32};
  GuardedBuffer<float> da(a), db(b), dc(shape.m * shape.n), scratch(gemm_workspace_bytes(shape, options) / 4);
  ASSERT_EQ(scratch.size(), shape.n * shape.k);
  const Stream stream;
  const auto run = [&](const Workspace& workspace) {
    return gemm(matrix(dc.data(), shape.m, shape.n), matrix<const float>(da.data(), shape.m, shape.k),
                matrix<const float>(db.data(), shape.k, shape.n), options, workspace, stream);
  };
  Workspace small = scratch.workspace();
  small.bytes -= 1;
  EXPECT_TRUE(refused(run(small), "gemm: "));
  LaunchNames launches;
  ASSERT_TRUE(ok(run(scratch.workspace())));
  DeviceProperties device;
  ASSERT_TRUE(ok(device_properties(&device)));
  if (device.wgmma && device.multiprocessors == 132) {
    EXPECT_EQ(launches.names, (std::vector<std::string>{"gemm_transposes_b", "gemm"}));
  }
  const GemmReference expected = gemm_reference(shape, a, shape.k, b, shape.n, {}, 0, options, {});
  EXPECT_TRUE(all_near(dc.download(), expected.values, 0));
}

// gemm() chooses small tiles for small problems on a large device. This runs every tile on any device.
class GemmTile : public testing::TestWithParam<TileInfo> {
 protected:
  GemmVariant variant() const { return {name_.c_str(), "", run}; }
  bool fits(bool transpose_a) const {
    DeviceProperties device;
    EXPECT_TRUE(ok(device_properties(&device)));
    return check_math("", uses_tensor_cores(GetParam().id.arithmetic) ? Math::tf32 : Math::fp32).ok() &&
           shared_bytes(GetParam(), {transpose_a ? Order::mn_major : Order::k_major}) <=
               device.shared_bytes_per_block;
  }

 private:
  // A variant is a function, so it finds the tile in the parameter of the running test.
  static Status run(MatrixView<float> c, MatrixView<const float> a, MatrixView<const float> b,
                    const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
    GemmOptions own = options;
    own.math = math_of(GetParam().id.arithmetic);
    return gemm_by_tile(GetParam().id, c, a, b, own, workspace, stream);
  }
  const std::string name_ = name_of(GetParam().id);
};

TEST_P(GemmTile, OddSizesTransposesAndAlignments) {
  const GemmShape shapes[] = {{1, 1, 1},     {257, 57, 33},   {300, 131, 70}, {63, 25, 31},
                              {256, 56, 64}, {192, 128, 128}, {0, 5, 9}};
  for (const GemmShape& shape : shapes)
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true})
        for (const int64_t padding : {0, 1, 2, 4})
          if (fits(transpose_a))
            check(variant(),
                  {shape,
                   {.transpose_a = transpose_a,
                    .transpose_b = transpose_b,
                    .beta = -1,
                    .activation = Activation::relu},
                   padding,
                   padding == 4 ? 0 : padding,
                   true},
                  true);
}

TEST_P(GemmTile, RowsThatEndWithinAWideCopy) {
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true})
      if (fits(transpose_a)) check_rows_that_end_within_a_wide_copy(variant(), transpose_a, transpose_b);
}

TEST_P(GemmTile, SplitSums) {
  const GemmShape shape = {270, 61, 1001};
  ASSERT_GT(gemm_workspace_bytes(shape), 0);
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true})
      if (fits(transpose_a))
        check(variant(), {shape, {.transpose_a = transpose_a, .transpose_b = transpose_b}, 1, 0, true}, true);
}

std::vector<TileInfo> tiles_of_floats() {
  std::vector<TileInfo> all;
  std::ranges::copy_if(tile_infos(), std::back_inserter(all), [](const TileInfo& tile) {
    return tile.id.instruction != Instruction::wgmma && factor_type(tile.id.arithmetic) == DType::float32;
  });
  return all;
}
INSTANTIATE_TEST_SUITE_P(Tiles, GemmTile, testing::ValuesIn(tiles_of_floats()),
                         testing::PrintToStringParamName());

// Split-K: a long sum, few results.
TEST(GemmSplit, AddsTheSplitsInOrder) {
  const GemmVariant production = gemm_variants().back();
  for (const GemmShape& shape : {GemmShape{50, 47, 4096}, GemmShape{9, 20, 3000}, GemmShape{256, 128, 800}}) {
    EXPECT_GT(gemm_workspace_bytes(shape), 0);
    for (const bool transpose_a : {false, true})
      check(production,
            {shape,
             {.transpose_a = transpose_a, .alpha = 0.5f, .beta = 1, .activation = Activation::relu},
             1,
             0,
             true},
            shape.k <= 4096 / 4);
  }
}

TEST(GemmSplit, ATooSmallWorkspaceIsRefused) {
  const GemmShape shape = {50, 47, 4096};
  GuardedBuffer<float> a(exact_values(50 * 4096, 1)), b(exact_values(4096 * 47, 2)), c(50 * 47),
      scratch(gemm_workspace_bytes(shape) / 4);
  Stream stream;
  const auto run = [&](Workspace workspace, float alpha) {
    return gemm(matrix(c.data(), 50, 47), matrix(a.data(), 50, 4096), matrix(b.data(), 4096, 47),
                {.alpha = alpha}, workspace, stream);
  };
  Workspace less = scratch.workspace();
  EXPECT_TRUE(ok(run(less, 1)));
  const std::string wanted = concat("must have at least ", less.bytes);
  less.bytes -= 16;
  EXPECT_TRUE(refused(run(less, 1), wanted));
  EXPECT_TRUE(refused(run({}, 1), concat("the workspace has 0 bytes, ", wanted)));
  EXPECT_TRUE(ok(run({}, 0))) << "a sum over nothing is not split";
}

TEST(GemmSplit, SameBitsInEveryRunAndAtEveryAlignment) {
  const GemmShape shape = {65, 33, 2500};
  const std::vector<float> a = normal_values(shape.m * shape.k, 1), b = normal_values(shape.k * shape.n, 2);
  std::vector<float> first;
  for (const int64_t offset : {0, 1, 2, 4, 0}) {
    GuardedBuffer<float> da(a, offset), db(b, offset), dc(shape.m * shape.n, offset),
        scratch(gemm_workspace_bytes(shape) / 4);
    Stream stream;
    ASSERT_TRUE(ok(gemm(matrix(dc.data(), shape.m, shape.n), matrix(da.data(), shape.m, shape.k),
                        matrix(db.data(), shape.k, shape.n), {}, scratch.workspace(), stream)));
    if (first.empty()) first = dc.download();
    EXPECT_TRUE(all_equal_bits(dc.download(), first)) << "offset " << offset;
  }
}

}  // namespace
}  // namespace rondo::test
