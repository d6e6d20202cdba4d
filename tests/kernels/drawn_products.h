// Drawn products: shapes with tails of 1 and empty ones, layouts, strides, misalignment, alpha, beta, bias,
// residual, activation, and the kernel: gemm(), or one tile of mma.sync or wgmma, with whole tiles or
// stream-K.
#pragma once

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/gemm/gemm.h>
#include <rondo/tests/kernels/product_errors.h>
#include <rondo/tests/kernels/products_by_tile.h>
#include <rondo/tests/kernels/reference/gemm_reference.h>
#include <rondo/tests/kernels/tf32_values.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/narrow.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace rondo::test {

template <class Factor, class Result, Math of_products>
struct ProductArithmetic {
  using T = Factor;
  using C = Result;
  static constexpr Math kMath = of_products;
};

enum class ProductKernel { production, tile, persistent, stream_k };

struct ProductDraw {
  ProductKernel kernel;
  TileId tile;  // not of production
  int blocks;   // of stream-K
  GemmShape shape;
  GemmOptions options;
  bool with_bias;
  bool with_residual, residual_is_c;
  int64_t a_gap, b_gap, c_gap;           // of strides
  int64_t a_offset, b_offset, c_offset;  // that of C also for the bias
};

using ProductArithmetics =
    testing::Types<ProductArithmetic<float, float, Math::fp32>, ProductArithmetic<float, float, Math::tf32>,
                   ProductArithmetic<float, float, Math::tf32x3>,
                   ProductArithmetic<__nv_bfloat16, __nv_bfloat16, Math::fp32>,
                   ProductArithmetic<__nv_bfloat16, float, Math::fp32>,
                   ProductArithmetic<__half, __half, Math::fp32>,
                   ProductArithmetic<__half, float, Math::fp32>>;

// What A and B hold where the product reads them, and what the device gets.
struct ProductInputs {
  int64_t a_rows, a_cols, b_rows, b_cols, a_stride, b_stride, c_stride;
  std::vector<float> a, b, c, bias;
  std::vector<float> given_a, given_b, given_c;  // NaN where they must not be read
};

template <class A>
class ProductDraws {
 public:
  using T = typename A::T;
  using C = typename A::C;
  static constexpr Arithmetic kArithmetic = arithmetic_of(dtype_of<T>, A::kMath);

  // gpu_tiles: only the tiles that a GPU has, too.
  explicit ProductDraws(bool gpu_tiles = false) : gpu_tiles_(gpu_tiles) {
    throw_if_error(device_properties(&device_));
  }
  // Whether the device has such products.
  static bool supported() { return check_math("", A::kMath).ok() && check_factor_type("", dtype_of<T>).ok(); }
  static uint64_t seed() {
    return 100 * static_cast<uint64_t>(dtype_of<T>) + 10 * static_cast<uint64_t>(dtype_of<C>) +
           static_cast<uint64_t>(A::kMath);
  }
  static std::string name() {
    return concat(dtype_of<T> == DType::float32 ? name_of(A::kMath) : name_of(dtype_of<T>), "_to_",
                  name_of(dtype_of<C>));
  }

  ProductDraw draw(Random& random) const {
    ProductDraw d = {};
    const auto flip = [&] { return random.below(2) != 0; };
    d.kernel = static_cast<ProductKernel>(random.below(4));
    d.shape = {size(random, 200), size(random, 200), size(random, 300)};
    if (random.below(6) == 0) d.shape = {1 + random.below(70), 1 + random.below(70), 512 + random.below(700)};
    d.options = GemmOptions{.transpose_a = flip(),
                            .transpose_b = flip(),
                            .alpha = random.below(8) == 0 ? 0.0f
                                     : flip()             ? 1.0f
                                                          : static_cast<float>(random.normal()),
                            .beta = flip() ? 0.0f : static_cast<float>(random.normal()),
                            .activation = activation(random),
                            .math = A::kMath};
    d.with_bias = flip();
    d.with_residual = random.below(3) == 0;
    if (d.with_residual) d.options.beta = 0, d.residual_is_c = flip();
    const auto some = [&](int64_t below) { return flip() ? 0 : random.below(below); };
    d.a_gap = some(9), d.b_gap = some(9), d.c_gap = some(9);
    d.a_offset = some(8), d.b_offset = some(8), d.c_offset = some(8);
    if (d.kernel == ProductKernel::tile) {
      const std::vector<TileId> all = tiles(d.options.transpose_a);
      if (all.empty())
        d.kernel = ProductKernel::production;
      else
        d.tile = all[static_cast<size_t>(random.below(std::ssize(all)))];
    } else if (by_wgmma(d)) {
      if (A::kMath == Math::tf32x3) d.kernel = ProductKernel::persistent;
      const std::vector<TileId> all = wgmma_tiles(d.kernel == ProductKernel::stream_k);
      if (all.empty())
        d.kernel = ProductKernel::production;
      else
        d.tile = all[static_cast<size_t>(random.below(std::ssize(all)))];
      d.blocks = static_cast<int>(1 + random.below(9));
      if (is_smooth(d.options.activation)) d.options.beta = 0, d.with_residual = d.residual_is_c = false;
      if (sizeof(T) == 4) d.options.transpose_a = false, d.options.transpose_b = true;
      // Tensor maps need addresses at multiples of 16 bytes.
      constexpr int64_t kUnit = 16 / static_cast<int64_t>(sizeof(T));
      d.a_offset = kUnit * some(5), d.b_offset = kUnit * some(5);
    }
    return d;
  }
  static std::string describe(const ProductDraw& d) {
    return concat(d.kernel == ProductKernel::production ? "gemm()" : name_of(d.tile),
                  d.kernel == ProductKernel::persistent ? " by wgmma, "
                  : d.kernel == ProductKernel::stream_k
                      ? concat(" by wgmma, stream-K over ", d.blocks, " blocks, ")
                      : ", ",
                  d.shape.m, " x ", d.shape.n, " x ", d.shape.k, d.options.transpose_a ? ", A^T" : "",
                  d.options.transpose_b ? ", B^T" : "", ", alpha ", d.options.alpha, ", beta ",
                  d.options.beta, d.with_bias ? ", bias" : "",
                  !d.with_residual  ? ""
                  : d.residual_is_c ? ", residual is c"
                                    : ", residual",
                  ", activation ", name_of(d.options.activation), ", gaps ", d.a_gap, " ", d.b_gap, " ",
                  d.c_gap, ", offsets ", d.a_offset, " ", d.b_offset, " ", d.c_offset);
  }

  static ProductInputs inputs(const ProductDraw& d) {
    ProductInputs in;
    const auto [m, n, k] = d.shape;
    in.a_rows = d.options.transpose_a ? k : m, in.a_cols = m + k - in.a_rows;
    in.b_rows = d.options.transpose_b ? n : k, in.b_cols = n + k - in.b_rows;
    // Tensor maps need rows that begin at multiples of 16 bytes.
    const int64_t multiple = by_wgmma(d) ? 16 / static_cast<int64_t>(sizeof(T)) : 1;
    const auto stride = [&](int64_t cols, int64_t gap) {
      return std::max(multiple, (cols + gap + multiple - 1) / multiple * multiple);
    };
    in.a_stride = stride(in.a_cols, d.a_gap), in.b_stride = stride(in.b_cols, d.b_gap);
    in.c_stride = n + d.c_gap;
    const auto factors = [&](int64_t rows, int64_t cols, int64_t of_stride, uint64_t seed) {
      std::vector<float> values = without_ties(representable<T>(rows * of_stride, seed));
      for (size_t i = 0; i < values.size(); ++i)
        if (static_cast<int64_t>(i) % of_stride >= cols) values[i] = NAN;
      return values;
    };
    in.a = factors(in.a_rows, in.a_cols, in.a_stride, 1);
    in.b = factors(in.b_rows, in.b_cols, in.b_stride, 2);
    if (d.with_bias) in.bias = normal_values(n, 4);
    in.c = representable<C>(m * in.c_stride, 3);
    in.given_c = in.c, in.given_a = in.a, in.given_b = in.b;
    if (d.options.beta == 0 && !d.residual_is_c)  // C must not be read
      for (int64_t i = 0; i < m * in.c_stride; ++i)
        if (i % in.c_stride < n) in.given_c[static_cast<size_t>(i)] = NAN;
    if (d.options.alpha == 0) {  // nor A and B
      in.given_a.assign(in.a.size(), NAN);
      in.given_b.assign(in.b.size(), INFINITY);
    }
    if (A::kMath == Math::tf32) in.a = nearest_tf32(in.a), in.b = nearest_tf32(in.b);
    return in;
  }

  // Whether the results are as near as the arithmetic of their sums allows. k: 0 if alpha is 0.
  // The slopes of smooth activations are below 1.13, and their own errors below 2^-21
  // (activation_functions.h).
  static testing::AssertionResult within_the_bound(const std::vector<C>& got, const GemmReference& expected,
                                                   int64_t k, Activation activation = Activation::none) {
    const double error = largest_sum_error(A::kMath, uses_tensor_cores(kArithmetic), k);
    return all_within(got, expected.values, [&](size_t i) {
      double sums = error * expected.magnitude[i];
      if (is_smooth(activation)) sums = 1.13 * sums + 0x1p-21 * std::abs(expected.values[i]) + 0x1p-126;
      return sums + (sizeof(C) == 2 ? rounding_error<C>(std::abs(expected.values[i]) + sums) : 0);
    });
  }

  // The values in double. The residual is c, or another matrix with its values.
  static GemmReference reference(const ProductDraw& d, const ProductInputs& in) {
    GemmOptions options = d.options;
    if (d.with_residual) options.beta = 1;
    return gemm_reference(d.shape, in.a, in.a_stride, in.b, in.b_stride, in.c, in.c_stride, options, in.bias);
  }

  // C with its gaps.
  static std::vector<C> compute(const ProductDraw& d, const ProductInputs& in) {
    const auto [m, n, k] = d.shape;
    GuardedBuffer<T> da(rounded<T>(in.given_a), d.a_offset), db(rounded<T>(in.given_b), d.b_offset);
    GuardedBuffer<C> dc(rounded<C>(in.given_c), d.c_offset);
    GuardedBuffer<float> dbias(in.bias, d.c_offset),
        scratch(gemm_workspace_bytes(d.shape, d.options, dtype_of<T>) / 4);
    GemmOptions options = d.options;
    if (d.with_bias) options.bias = dbias.view();
    // It has the layout of c. Its alignment differs.
    GuardedBuffer<C> other(rounded<C>(d.with_residual && !d.residual_is_c ? in.c : std::vector<float>()),
                           d.c_offset == 0 ? d.a_offset : 0);
    const MatrixView<C> of_c = dc.matrix(m, n, in.c_stride);
    if (d.with_residual) options.residual = d.residual_is_c ? of_c : other.matrix(m, n, in.c_stride);
    const Stream stream;
    EXPECT_TRUE(ok(run(d, of_c, da.matrix(in.a_rows, in.a_cols, in.a_stride),
                       db.matrix(in.b_rows, in.b_cols, in.b_stride), options, scratch.workspace(), stream)));
    return dc.download();
  }

 private:
  static Activation activation(Random& random) {
    return static_cast<Activation>(random.below(2) == 0 ? random.below(2) : random.below(5));
  }
  static int64_t size(Random& random, int64_t most) {
    constexpr int64_t kTiles[] = {32, 64, 128, 176, 192, 256};
    switch (random.below(16)) {
      case 0:
        return 0;
      case 1:
        return 1;
      case 2:
      case 3:
      case 4:
      case 5:
        return kTiles[random.below(6)] + random.below(3) - 1;
      default:
        return 1 + random.below(most);
    }
  }

  // The tiles of the arithmetic that a block of the device has the shared memory of; of the smallest GPUs
  // none.
  std::vector<TileId> tiles(bool transpose_a) const {
    const TileNeeds needs = {.order_a = transpose_a ? Order::mn_major : Order::k_major};
    std::vector<TileId> all;
    for (const TileInfo& tile : tile_infos()) {
      const bool of_gpus = tile.id.instruction != Instruction::vector_fma;
      if (tile.id.arithmetic == kArithmetic && tile.id.instruction != Instruction::wgmma &&
          (of_gpus || !gpu_tiles_) && shared_bytes(tile, needs) <= device_.shared_bytes_per_block)
        all.push_back(tile.id);
    }
    return all;
  }
  // None on a device without wgmma.
  std::vector<TileId> wgmma_tiles(bool stream_k) const {
    std::vector<TileId> all;
    for (const TileInfo& tile : tile_infos())
      if (device_.wgmma && tile.id.arithmetic == kArithmetic && tile.id.instruction == Instruction::wgmma &&
          (!stream_k || tile.id.cluster_blocks == 1))
        all.push_back(tile.id);
    return all;
  }

  static bool by_wgmma(const ProductDraw& d) {
    return d.kernel == ProductKernel::persistent || d.kernel == ProductKernel::stream_k;
  }

  static Status run(const ProductDraw& d, MatrixView<C> c, MatrixView<const T> a, MatrixView<const T> b,
                    const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
    if (d.kernel == ProductKernel::production) return gemm(c, a, b, options, workspace, stream);
    return gemm_by_tile(d.tile, c, a, b, options, workspace, stream,
                        d.kernel == ProductKernel::stream_k ? d.blocks : 0);
  }

  bool gpu_tiles_;
  DeviceProperties device_;
};

// For typed tests: "fp32_to_float32".
struct NameOfArithmetic {
  template <class A>
  static std::string GetName(int) {
    return ProductDraws<A>::name();
  }
};

// visit(ProductDraws<A>) for every arithmetic, with the tiles of GPUs.
template <class Visit>
void for_each_product_arithmetic(Visit&& visit) {
  const auto all = [&]<class... A>(testing::Types<A...>) { (visit(ProductDraws<A>(true)), ...); };
  all(ProductArithmetics());
}

}  // namespace rondo::test
