// Drawn products of every arithmetic against double precision: shapes with tails of 1 and empty ones,
// layouts, strides, misalignment, alpha, beta, bias, ReLU, and the kernel: gemm(), or one tile of mma.sync or
// wgmma, with whole tiles or stream-K.
#include <gtest/gtest.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/gemm/gemm.h>
#include <rondo/kernels/gemm/gemm_with_tile.h>
#include <rondo/kernels/gemm/ladder/gemm_06_pipelined.h>
#include <rondo/kernels/gemm/tensor_ladder/gemm_tc_07_persistent.h>
#include <rondo/kernels/gemm/tensor_ladder/gemm_tc_09_stream_k.h>
#include <rondo/tests/kernels/product_errors.h>
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
namespace {

template <class Factor, class Result, Math of_products>
struct Arithmetic {
  using T = Factor;
  using C = Result;
  static constexpr Math kMath = of_products;
};

enum class Kernel { production, tile, persistent, stream_k };

struct Draw {
  Kernel kernel;
  size_t tile;  // of tile_infos() or of wgmma_tile_infos()
  int blocks;   // of stream-K
  GemmShape shape;
  GemmOptions options;
  bool with_bias;
  int64_t a_gap, b_gap, c_gap;           // of strides
  int64_t a_offset, b_offset, c_offset;  // that of C also for the bias
};

template <class A>
class DrawnTensorProducts : public testing::Test {
 protected:
  using T = typename A::T;
  using C = typename A::C;
  static constexpr bool kTensor = A::kMath != Math::fp32 || sizeof(T) == 2;

  void SetUp() override {
    ASSERT_TRUE(ok(device_properties(&device_)));
    if (!check_math("", A::kMath).ok() || !check_factor_type("", dtype_of<T>).ok())
      GTEST_SKIP() << "the device has no such products";
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

  Draw draw(Random& random) const {
    Draw d = {};
    const auto flip = [&] { return random.below(2) != 0; };
    d.kernel = static_cast<Kernel>(random.below(4));
    d.shape = {size(random, 200), size(random, 200), size(random, 300)};
    if (random.below(6) == 0) d.shape = {1 + random.below(70), 1 + random.below(70), 512 + random.below(700)};
    d.options = {.transpose_a = flip(),
                 .transpose_b = flip(),
                 .alpha = random.below(8) == 0 ? 0.0f
                          : flip()             ? 1.0f
                                               : static_cast<float>(random.normal()),
                 .beta = flip() ? 0.0f : static_cast<float>(random.normal()),
                 .relu = flip(),
                 .math = A::kMath};
    d.with_bias = flip();
    const auto some = [&](int64_t below) { return flip() ? 0 : random.below(below); };
    d.a_gap = some(9), d.b_gap = some(9), d.c_gap = some(9);
    d.a_offset = some(8), d.b_offset = some(8), d.c_offset = some(8);
    if (d.kernel == Kernel::tile) {
      const std::vector<size_t> all = tiles(d.options.transpose_a);
      if (all.empty())
        d.kernel = Kernel::production;
      else
        d.tile = all[static_cast<size_t>(random.below(std::ssize(all)))];
    } else if (by_wgmma(d)) {
      if (A::kMath == Math::tf32x3) d.kernel = Kernel::persistent;
      if (!device_.wgmma || !kTensor) d.kernel = Kernel::production;
      do {
        d.tile = static_cast<size_t>(random.below(std::ssize(wgmma_tile_infos())));
      } while ((A::kMath == Math::tf32x3 && !wgmma_tile_infos()[d.tile].tf32x3) ||
               (d.kernel == Kernel::stream_k && wgmma_tile_infos()[d.tile].cluster_blocks > 1));
      d.blocks = static_cast<int>(1 + random.below(9));
      if (sizeof(T) == 4) d.options.transpose_a = false, d.options.transpose_b = true;
      // Tensor maps need addresses at multiples of 16 bytes.
      constexpr int64_t kUnit = 16 / static_cast<int64_t>(sizeof(T));
      d.a_offset = kUnit * some(5), d.b_offset = kUnit * some(5);
    }
    return d;
  }
  // The tiles of the arithmetic that a block of the device has the shared memory of; of the smallest GPUs
  // none.
  std::vector<size_t> tiles(bool transpose_a) const {
    const TileNeeds needs = {.order_a = transpose_a ? Order::mn_major : Order::k_major};
    std::vector<size_t> all;
    for (size_t i = 0; i < tile_infos().size(); ++i) {
      const TileInfo& tile = tile_infos()[i];
      if (tile.type == dtype_of<T> && tile.math == A::kMath &&
          shared_bytes(tile, needs) <= device_.shared_bytes_per_block)
        all.push_back(i);
    }
    return all;
  }

  static bool by_wgmma(const Draw& d) {
    return d.kernel == Kernel::persistent || d.kernel == Kernel::stream_k;
  }

  static std::string describe(const Draw& d) {
    return concat(d.kernel == Kernel::production ? "gemm()"
                  : d.kernel == Kernel::tile     ? tile_infos()[d.tile].name
                                                 : wgmma_tile_infos()[d.tile].name,
                  d.kernel == Kernel::persistent ? " by wgmma, "
                  : d.kernel == Kernel::stream_k ? concat(" by wgmma, stream-K over ", d.blocks, " blocks, ")
                                                 : ", ",
                  d.shape.m, " x ", d.shape.n, " x ", d.shape.k, d.options.transpose_a ? ", A^T" : "",
                  d.options.transpose_b ? ", B^T" : "", ", alpha ", d.options.alpha, ", beta ",
                  d.options.beta, d.with_bias ? ", bias" : "", d.options.relu ? ", ReLU" : "", ", gaps ",
                  d.a_gap, " ", d.b_gap, " ", d.c_gap, ", offsets ", d.a_offset, " ", d.b_offset, " ",
                  d.c_offset);
  }

  static Status run(const Draw& d, MatrixView<C> c, MatrixView<const T> a, MatrixView<const T> b,
                    const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
    if (d.kernel == Kernel::production) return gemm(c, a, b, options, workspace, stream);
    GemmArgumentsOf<T, C> g;
    RONDO_RETURN_IF_ERROR(check_gemm("gemm", GemmWorkspace::parts, c, a, b, options, workspace, &g));
    GemmConfig config = split_k({g.m, g.n, g.k});
    if (d.kernel == Kernel::tile) {
      config.tile = tile_infos()[d.tile].id;
      if constexpr (sizeof(T) == 4)
        return launch_gemm_06("gemm", g, config, workspace, stream);
      else
        return gemm_with_tile("gemm", config.tile, c, a, b, options, workspace, stream);
    }
    if (d.kernel == Kernel::stream_k) {
      if constexpr (kTensor && A::kMath != Math::tf32x3) {
        const auto tile = static_cast<WgmmaTileId>(d.tile);
        GuardedBuffer<float> partial(stream_k_workspace_bytes(tile, d.blocks) / 4);
        const Status status = launch_gemm_stream_k("gemm", tile, g, d.blocks, partial.workspace(), stream);
        EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
        return status;
      }
    }
    if constexpr (A::kMath == Math::tf32x3)
      return launch_gemm_persistent_tf32x3("gemm", g, config, workspace, stream);
    else
      return launch_gemm_persistent("gemm", static_cast<WgmmaTileId>(d.tile), g, config, workspace, stream);
  }

  void check(const Draw& d) const {
    const auto [m, n, k] = d.shape;
    const int64_t a_rows = d.options.transpose_a ? k : m, a_cols = m + k - a_rows;
    const int64_t b_rows = d.options.transpose_b ? n : k, b_cols = n + k - b_rows;
    // Tensor maps need rows that begin at multiples of 16 bytes.
    const int64_t multiple = by_wgmma(d) ? 16 / static_cast<int64_t>(sizeof(T)) : 1;
    const auto stride = [&](int64_t cols, int64_t gap) {
      return std::max(multiple, (cols + gap + multiple - 1) / multiple * multiple);
    };
    const int64_t a_stride = stride(a_cols, d.a_gap), b_stride = stride(b_cols, d.b_gap),
                  c_stride = n + d.c_gap;
    const auto factors = [&](int64_t rows, int64_t cols, int64_t of_stride, uint64_t seed) {
      std::vector<float> values = without_ties(representable<T>(rows * of_stride, seed));
      for (size_t i = 0; i < values.size(); ++i)
        if (static_cast<int64_t>(i) % of_stride >= cols) values[i] = NAN;
      return values;
    };
    std::vector<float> a = factors(a_rows, a_cols, a_stride, 1), b = factors(b_rows, b_cols, b_stride, 2);
    const std::vector<float> bias = d.with_bias ? normal_values(n, 4) : std::vector<float>();
    const std::vector<float> c = representable<C>(m * c_stride, 3);
    std::vector<float> given_c = c, given_a = a, given_b = b;
    if (d.options.beta == 0)  // C must not be read
      for (int64_t i = 0; i < m * c_stride; ++i)
        if (i % c_stride < n) given_c[static_cast<size_t>(i)] = NAN;
    if (d.options.alpha == 0) {  // nor A and B
      given_a.assign(a.size(), NAN);
      given_b.assign(b.size(), INFINITY);
    }
    if (A::kMath == Math::tf32) a = nearest_tf32(a), b = nearest_tf32(b);

    GuardedBuffer<T> da(rounded<T>(given_a), d.a_offset), db(rounded<T>(given_b), d.b_offset);
    GuardedBuffer<C> dc(rounded<C>(given_c), d.c_offset);
    GuardedBuffer<float> dbias(bias, d.c_offset),
        scratch(gemm_workspace_bytes(d.shape, d.options, dtype_of<T>) / 4);
    GemmOptions options = d.options;
    if (d.with_bias) options.bias = dbias.view();
    const Stream stream;
    ASSERT_TRUE(ok(run(d, dc.matrix(m, n, c_stride), da.matrix(a_rows, a_cols, a_stride),
                       db.matrix(b_rows, b_cols, b_stride), options, scratch.workspace(), stream)));
    const std::vector<C> all = dc.download();
    const GemmReference expected =
        gemm_reference(d.shape, a, a_stride, b, b_stride, c, c_stride, d.options, bias);
    std::vector<C> got, gaps, gaps_before;
    for (size_t i = 0; i < all.size(); ++i) {
      const bool inside = static_cast<int64_t>(i) % c_stride < n;
      (inside ? got : gaps).push_back(all[i]);
      if (!inside) gaps_before.push_back(static_cast<C>(c[i]));
    }
    const double error = largest_sum_error(A::kMath, kTensor, d.options.alpha == 0 ? 0 : k);
    ASSERT_TRUE(all_within(got, expected.values, [&](size_t i) {
      const double sums = error * expected.magnitude[i];
      return sums + (sizeof(C) == 2 ? rounding_error<C>(std::abs(expected.values[i]) + sums) : 0);
    }));
    ASSERT_TRUE(all_equal_bits(gaps, gaps_before)) << "wrote between the rows";
  }

  DeviceProperties device_;
};

using All = testing::Types<Arithmetic<float, float, Math::fp32>, Arithmetic<float, float, Math::tf32>,
                           Arithmetic<float, float, Math::tf32x3>,
                           Arithmetic<__nv_bfloat16, __nv_bfloat16, Math::fp32>,
                           Arithmetic<__nv_bfloat16, float, Math::fp32>,
                           Arithmetic<__half, __half, Math::fp32>, Arithmetic<__half, float, Math::fp32>>;
struct Names {
  template <class A>
  static std::string GetName(int) {
    constexpr DType type = dtype_of<typename A::T>;
    return concat(type == DType::float32 ? name_of(A::kMath) : name_of(type), "_to_",
                  name_of(dtype_of<typename A::C>));
  }
};
TYPED_TEST_SUITE(DrawnTensorProducts, All, Names);

TYPED_TEST(DrawnTensorProducts, WithinTheBound) {
  using A = TypeParam;
  Random random(100 * static_cast<uint64_t>(dtype_of<typename A::T>) +
                10 * static_cast<uint64_t>(dtype_of<typename A::C>) + static_cast<uint64_t>(A::kMath));
  for (int i = 0; i < 150; ++i) {
    const Draw d = this->draw(random);
    SCOPED_TRACE(concat("draw ", i, ": ", TestFixture::describe(d)));
    ASSERT_NO_FATAL_FAILURE(this->check(d));
  }
}

}  // namespace
}  // namespace rondo::test
