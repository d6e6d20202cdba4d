// gemm() of bfloat16 and float16 matrices, with results of their type and of float. The factors of the tests
// are exact in every type; a 16-bit result must be the exact result, rounded once.
#include <gtest/gtest.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/gemm/gemm.h>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rungs.h>
#include <rondo/tests/kernels/products_by_tile.h>
#include <rondo/tests/kernels/reference/gemm_reference.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/invented_memory.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>

namespace rondo::test {
namespace {

template <class Factor, class ResultType>
struct Types {
  using T = Factor;
  using C = ResultType;
};

template <class T>
std::vector<T> converted(const std::vector<float>& values) {
  std::vector<T> all;
  for (const float value : values) all.push_back(static_cast<T>(value));
  return all;
}

struct Problem {
  GemmShape shape;
  GemmOptions options = {};
  int64_t padding = 0;  // of strides, in elements; 8: up to the next multiple of 8
  int64_t offset = 0;   // of pointers, in elements
  bool with_bias = false;
};
std::string describe(const Problem& p) {
  return concat(p.shape.m, " x ", p.shape.n, " x ", p.shape.k, p.options.transpose_a ? ", A^T" : "",
                p.options.transpose_b ? ", B^T" : "", ", alpha ", p.options.alpha, ", beta ", p.options.beta,
                p.with_bias ? ", bias" : "", ", ", name_of(p.options.activation), ", padding ", p.padding,
                ", offset ", p.offset);
}

template <class TypePair>
class GemmNarrow : public testing::Test {
 protected:
  using T = typename TypePair::T;
  using C = typename TypePair::C;

  static constexpr int kTypeBits = dtype_of<T> == DType::bfloat16 ? 8 : 11;

  using Run = std::function<Status(MatrixView<C>, MatrixView<const T>, MatrixView<const T>,
                                   const GemmOptions&, Workspace, cudaStream_t)>;

  // Without a tile, calls gemm().
  void check(std::optional<TileId> tile, const Problem& p, bool exact = true) {
    check_run(
        [tile](auto c, auto a, auto b, const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
          return tile ? gemm_by_tile(*tile, c, a, b, options, workspace, stream)
                      : gemm(c, a, b, options, workspace, stream);
        },
        p, exact);
  }
  // With normal values the bound is that of truncated fp32 sums.
  void check_run(const Run& run, const Problem& p, bool exact = true, bool uses_wgmma = false) {
    const auto values = [&](int64_t size, uint64_t seed) {
      std::vector<float> all = exact ? exact_values(size, seed) : normal_values(size, seed);
      for (float& value : all) value = static_cast<float>(static_cast<T>(value));
      return all;
    };
    const GemmShape& shape = p.shape;
    const int64_t a_rows = p.options.transpose_a ? shape.k : shape.m, a_cols = shape.m + shape.k - a_rows;
    const int64_t b_rows = p.options.transpose_b ? shape.n : shape.k, b_cols = shape.n + shape.k - b_rows;
    const auto padded = [&](int64_t cols) { return p.padding == 8 ? (cols + 7) / 8 * 8 : cols + p.padding; };
    const int64_t a_stride = padded(a_cols), b_stride = padded(b_cols), c_stride = padded(shape.n);
    const auto with_gaps = [](std::vector<float> all, int64_t cols, int64_t stride) {
      for (size_t i = 0; i < all.size(); ++i)
        if (static_cast<int64_t>(i) % stride >= cols) all[i] = NAN;
      return all;
    };
    const std::vector<float> a = with_gaps(values(a_rows * a_stride, 1), a_cols, a_stride),
                             b = with_gaps(values(b_rows * b_stride, 2), b_cols, b_stride);
    const std::vector<float> bias = p.with_bias ? values(shape.n, 4) : std::vector<float>();
    const std::vector<float> c = values(shape.m * c_stride, 3);
    GuardedBuffer<T> da(converted<T>(a), p.offset), db(converted<T>(b), p.offset);
    GuardedBuffer<C> dc(converted<C>(c), p.offset);
    GuardedBuffer<float> dbias(bias, p.offset),
        scratch(
            std::max(gemm_workspace_bytes(shape, p.options, dtype_of<T>), gemm_tc_09_workspace_bytes(shape)) /
            4);
    GemmOptions options = p.options;
    if (p.with_bias) options.bias = dbias.view();
    const Stream stream;
    const auto va = da.matrix(a_rows, a_cols, a_stride);
    const auto vb = db.matrix(b_rows, b_cols, b_stride);
    const auto vc = dc.matrix(shape.m, shape.n, c_stride);
    const Status status = run(vc, va, vb, options, scratch.workspace(), stream);
    // Rows that tensor maps do not describe. Said here a second time.
    const auto fits = [](const MatrixView<const T>& operand) {
      return reinterpret_cast<uintptr_t>(operand.data) % 16 == 0 && operand.stride % 8 == 0;
    };
    if (uses_wgmma && shape.m * shape.n * shape.k != 0 && !(fits(va) && fits(vb))) {
      ASSERT_TRUE(refused(status, "gemm_tc_04_pipelined takes it")) << describe(p);
      return;
    }
    ASSERT_TRUE(ok(status)) << describe(p);

    const GemmReference expected =
        gemm_reference(shape, a, a_stride, b, b_stride, c, c_stride, p.options, bias);
    const std::vector<C> got = dc.download();
    for (int64_t i = 0; i < shape.m; ++i)
      for (int64_t j = 0; j < c_stride; ++j) {
        const auto at = static_cast<size_t>(i * c_stride + j);
        const auto value = static_cast<float>(got[at]);
        if (j >= shape.n) {
          ASSERT_EQ(value, c[at]) << "wrote between the rows, " << describe(p);
        } else if (exact) {
          const double sum = expected.values[static_cast<size_t>(i * shape.n + j)];
          ASSERT_EQ(value, static_cast<float>(static_cast<C>(static_cast<float>(sum))))
              << "result " << i << ", " << j << ", " << describe(p);
        } else {
          const auto index = static_cast<size_t>(i * shape.n + j);
          const double rounding =
              sizeof(C) == 2 ? std::ldexp(std::abs(expected.values[index]), -kTypeBits) : 0;
          const double bound = static_cast<double>(shape.k + 3) * 0x1p-23 * expected.magnitude[index];
          ASSERT_LE(std::abs(static_cast<double>(value) - expected.values[index]), bound + rounding)
              << "result " << i << ", " << j << ", " << describe(p);
        }
      }
  }

  static constexpr Arithmetic kArithmetic = arithmetic_of(dtype_of<T>, Math::fp32);

  static std::vector<TileId> wgmma_tiles() {
    std::vector<TileId> all;
    for (const TileInfo& tile : tile_infos())
      if (tile.id.arithmetic == kArithmetic && tile.id.instruction == Instruction::wgmma)
        all.push_back(tile.id);
    return all;
  }
  static std::vector<TileInfo> tiles() {
    std::vector<TileInfo> all;
    DeviceProperties device;
    EXPECT_TRUE(ok(device_properties(&device)));
    for (const TileInfo& tile : tile_infos())
      if (tile.id.arithmetic == kArithmetic && tile.id.instruction == Instruction::mma &&
          shared_bytes(tile, {}) <= device.shared_bytes_per_block &&
          shared_bytes(tile, {.order_a = Order::mn_major}) <= device.shared_bytes_per_block)
        all.push_back(tile);
    return all;
  }
  static bool supported() { return check_factor_type("", dtype_of<T>).ok(); }
};

using AllTypes = testing::Types<Types<__nv_bfloat16, __nv_bfloat16>, Types<__nv_bfloat16, float>,
                                Types<__half, __half>, Types<__half, float>>;
struct TypeNames {
  template <class Pair>
  static std::string GetName(int) {
    return concat(name_of(dtype_of<typename Pair::T>), "_to_", name_of(dtype_of<typename Pair::C>));
  }
};
TYPED_TEST_SUITE(GemmNarrow, AllTypes, TypeNames);

#define SKIP_WITHOUT_SUPPORT() \
  if (!this->supported()) GTEST_SKIP() << "the device has no products of this type"

TYPED_TEST(GemmNarrow, OddSizesTransposesAndAlignments) {
  SKIP_WITHOUT_SUPPORT();
  ASSERT_FALSE(this->tiles().empty());
  const GemmShape shapes[] = {{1, 1, 1},    {1, 7, 33},     {17, 1, 5},     {64, 64, 64},
                              {65, 57, 72}, {129, 130, 40}, {20, 200, 136}, {0, 3, 4}};
  for (const TileInfo& tile : this->tiles())
    for (const GemmShape& shape : shapes)
      for (const bool transpose_a : {false, true})
        for (const bool transpose_b : {false, true})
          for (const int64_t padding : {0, 1, 2, 8}) {
            SCOPED_TRACE(name_of(tile.id));
            this->check(tile.id, {shape,
                                  {.transpose_a = transpose_a, .transpose_b = transpose_b},
                                  padding,
                                  padding == 8 ? 0 : padding});
          }
}

TYPED_TEST(GemmNarrow, RungsOfTheLadder) {
  SKIP_WITHOUT_SUPPORT();
  using T = typename TypeParam::T;
  if constexpr (std::is_same_v<T, typename TypeParam::C>) {
    const GemmShape shapes[] = {{1, 1, 1},       {17, 1, 5}, {65, 57, 72}, {70, 130, 40},
                                {136, 264, 344}, {0, 3, 4},  {3, 5, 0}};
    for (const TensorRung& rung : tensor_rungs()) {
      if (rung.uses_wgmma && !check_wgmma("").ok()) continue;
      for (const GemmShape& shape : shapes)
        for (const bool transpose_a : {false, true})
          for (const bool transpose_b : {false, true})
            for (const int64_t padding : {0, 1, 8}) {
              SCOPED_TRACE(rung.id);
              TensorRung::Run<T> run = nullptr;
              if constexpr (std::is_same_v<T, __half>)
                run = rung.fp16;
              else
                run = rung.bf16;
              const Problem p = {shape,
                                 {.transpose_a = transpose_a,
                                  .transpose_b = transpose_b,
                                  .alpha = 0.5f,
                                  .beta = -1,
                                  .activation = transpose_a ? Activation::relu : Activation::none},
                                 padding,
                                 padding == 8 ? 0 : padding,
                                 transpose_b};
              this->check_run(run, p, true, rung.uses_wgmma);
            }
    }
  } else {
    GTEST_SKIP() << "the rungs have results of their own type";
  }
}

// The tiles of the persistent rungs that gemm() chooses from, with and without parts of k. The tiles of a
// pair of blocks have 256 rows: one has a second block without rows, one without parts of its rows, one is
// full.
TYPED_TEST(GemmNarrow, PersistentTiles) {
  if (!check_wgmma("").ok()) GTEST_SKIP() << "the device has no wgmma";
  for (const GemmShape& shape : {GemmShape{129, 264, 200}, GemmShape{70, 61, 1001}, GemmShape{600, 320, 80}})
    for (const TileId& tile : this->wgmma_tiles())
      for (const bool transpose_a : {false, true})
        for (const bool transpose_b : {false, true}) {
          SCOPED_TRACE(name_of(tile));
          ASSERT_EQ(split_k(shape).splits > 1, shape.k > 1000);
          this->check_run(
              [&](auto c, auto a, auto b, const GemmOptions& options, Workspace workspace,
                  cudaStream_t stream) { return gemm_by_tile(tile, c, a, b, options, workspace, stream); },
              {shape, {.transpose_a = transpose_a, .transpose_b = transpose_b, .beta = 0.5f}, 8, 0, true});
        }
}

// The tiles of single blocks once more, by stream-K: of 2 or more tiles, with up to 8 parts each. Each in the
// four orders of the operands.
TYPED_TEST(GemmNarrow, StreamKTiles) {
  if (!check_wgmma("").ok()) GTEST_SKIP() << "the device has no wgmma";
  for (const GemmShape& shape :
       {GemmShape{129, 264, 200}, GemmShape{70, 61, 1001}, GemmShape{600, 320, 80}, GemmShape{200, 40, 0}})
    for (const TileId& tile : this->wgmma_tiles())
      for (const int blocks : {1, 3, 8})
        for (const bool transpose : {false, true}) {
          SCOPED_TRACE(concat(name_of(tile), ", ", blocks, " blocks"));
          if (tile.cluster_blocks > 1) continue;
          this->check_run(
              [&](auto c, auto a, auto b, const GemmOptions& options, Workspace workspace,
                  cudaStream_t stream) {
                return gemm_by_tile(tile, c, a, b, options, workspace, stream, blocks);
              },
              {shape,
               {.transpose_a = transpose,
                .transpose_b = transpose == (blocks == 3),
                .alpha = 2,
                .beta = 0.5f,
                .activation = transpose ? Activation::relu : Activation::none},
               8,
               0,
               true});
        }
}

// A product that is large enough for the tiles of the persistent rungs on any device with wgmma, and
// operands that they do not take.
TYPED_TEST(GemmNarrow, LargeProducts) {
  SKIP_WITHOUT_SUPPORT();
  for (const bool transpose : {false, true})
    for (const int64_t padding : {8, 1})
      this->check({}, {{700, 1030, 72}, {.transpose_a = transpose, .transpose_b = transpose}, padding});
}

TYPED_TEST(GemmNarrow, Epilogues) {
  SKIP_WITHOUT_SUPPORT();
  for (const GemmShape& shape : {GemmShape{37, 29, 41}, GemmShape{128, 64, 32}})
    for (const float alpha : {1.0f, -0.5f, 0.0f})
      for (const float beta : {0.0f, 1.0f, -2.0f})
        for (const bool bias : {false, true})
          for (const bool relu : {false, true})
            this->check(
                {}, {shape,
                     {.alpha = alpha, .beta = beta, .activation = relu ? Activation::relu : Activation::none},
                     3,
                     0,
                     bias});
}

TYPED_TEST(GemmNarrow, LongSumsAreSplit) {
  SKIP_WITHOUT_SUPPORT();
  const GemmShape shape = {70, 61, 1001};
  ASSERT_GT(gemm_workspace_bytes(shape), 0);
  for (const bool transpose : {false, true})
    this->check(
        {}, {shape,
             {.transpose_a = transpose, .transpose_b = transpose, .beta = 1, .activation = Activation::relu},
             1,
             0,
             true});
  this->check({}, {{50, 40, 0}, {.beta = 2}, 1, 0, true});
}

TYPED_TEST(GemmNarrow, RandomValuesWithinTheBound) {
  SKIP_WITHOUT_SUPPORT();
  this->check({}, {{150, 90, 304}}, false);
  this->check({},
              {{90, 70, 1000},
               {.transpose_a = true, .alpha = 0.3f, .beta = 1.7f, .activation = Activation::relu},
               1,
               1,
               true},
              false);
}

TYPED_TEST(GemmNarrow, ANanStaysInItsRow) {
  SKIP_WITHOUT_SUPPORT();
  using T = typename TypeParam::T;
  using C = typename TypeParam::C;
  std::vector<float> a = exact_values(40 * 33, 1);
  a[5 * 33 + 32] = NAN;
  GuardedBuffer<T> da(converted<T>(a)), db(converted<T>(exact_values(33 * 21, 2)));
  GuardedBuffer<C> dc(40 * 21);
  const Stream stream;
  ASSERT_TRUE(ok(gemm(matrix(dc.data(), 40, 21), matrix<const T>(da.data(), 40, 33),
                      matrix<const T>(db.data(), 33, 21), {.activation = Activation::relu}, {}, stream)));
  const std::vector<C> c = dc.download();
  for (size_t i = 0; i < c.size(); ++i)
    ASSERT_EQ(std::isnan(static_cast<float>(c[i])), i / 21 == 5) << "element " << i;
}

TYPED_TEST(GemmNarrow, RefusesBadArguments) {
  using T = typename TypeParam::T;
  using C = typename TypeParam::C;
  GuardedBuffer<T> a(std::vector<T>(6 * 8, T(0.0f))), b(std::vector<T>(8 * 5, T(0.0f)));
  GuardedBuffer<C> c(6 * 5);
  const Stream stream;
  const auto run = [&](MatrixView<C> vc, MatrixView<const T> va, MatrixView<const T> vb,
                       const GemmOptions& options = {}) { return gemm(vc, va, vb, options, {}, stream); };
  const MatrixView<C> vc = matrix(c.data(), 6, 5);
  const MatrixView<const T> va = matrix<const T>(a.data(), 6, 8), vb = matrix<const T>(b.data(), 8, 5);
  if (!this->supported()) {
    EXPECT_TRUE(refused(run(vc, va, vb), "needs compute capability"));
    return;
  }
  EXPECT_TRUE(ok(run(vc, va, vb)));
  EXPECT_TRUE(refused(run(vc, va, {b.data(), 7, 5, 5}), "op(b) is 7 x 5"));
  EXPECT_TRUE(refused(run(vc, {nullptr, 6, 8, 8}, vb), "a is null"));
  EXPECT_TRUE(refused(run(vc, va, vb, {.math = Math::tf32}), "math is tf32, which is for float matrices"));
  const auto* odd = reinterpret_cast<const T*>(reinterpret_cast<const char*>(a.data()) + 1);
  EXPECT_TRUE(refused(run(vc, {odd, 6, 8, 8}, vb), "a is at"));
}

TEST(Wgmma, MoreTilesThanKernelsCountAreRefused) {
  using T = __nv_bfloat16;
  const int64_t m = int64_t{128} << 17, n = int64_t{256} << 16;
  // Nothing is read or written: the sums have no terms, and the results would be 512 TiB.
  GuardedBuffer<T> empty(std::vector<T>(8));
  const InventedMemory results(int64_t{1} << 49);
  Buffer<char> workspace(gemm_tc_09_workspace_bytes({m, n, 0}));
  const Stream stream;
  for (const TensorRung& rung : tensor_rungs().subspan(6)) {
    const Status status =
        rung.bf16({results.data<T>(), m, n, n}, {empty.data(), m, 0, 8}, {empty.data(), 0, n, n}, {},
                  {workspace.data(), workspace.size()}, stream);
    if (status.message().find("needs compute capability") != std::string::npos) GTEST_SKIP();
    EXPECT_TRUE(refused(status, " tiles, must be below 2^31")) << rung.id;
  }
}

}  // namespace
}  // namespace rondo::test
