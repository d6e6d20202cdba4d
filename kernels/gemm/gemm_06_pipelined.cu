// Idea:      load the next k-tile while the current one is multiplied. cp.async copies from global to shared
//            memory without registers, and its zero fill handles tails at no cost. For few results with a
//            long sum, several blocks share a tile and split k (split_k.cuh).
// Builds on: gemm_05_vectorised.
// Limit now: instruction issue on 9.0 and 10.0, the fp32 pipes on 8.0. Of about 276 instructions per two
//            steps of k, only about 20 are not multiply-adds.
// Counted:   0.0059 global requests of 16 bytes per lane, 0.11 wavefronts of shared memory per multiply-add,
//            no bank conflicts.
// Next:      tensor cores. They have a different arithmetic and therefore need a separate ladder.
#include <rondo/kernels/gemm/gemm_06_pipelined.h>
#include <rondo/kernels/gemm/gemm_variants.h>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/gemm/epilogue.cuh>
#include <rondo/kernels/gemm/matrix_loaders.cuh>
#include <rondo/kernels/gemm/split_k.cuh>
#include <rondo/kernels/gemm/tile_mainloop.cuh>
#include <rondo/kernels/gemm/tiles.cuh>

#include <algorithm>

namespace rondo {
namespace {

struct Parameters {
  GemmArguments gemm;
  int a_width, b_width;  // floats per copy
  int64_t tiles_n;
  int64_t k_per_split;
  Epilogue epilogue;
  Partials partials;  // null data: k is not split, and the kernel stores the result
};

template <class Tile, Order OrderA, Order OrderB>
__global__ __launch_bounds__(Tile::kThreads,
                             Tile::kBlocksAtOnce) void gemm_06_pipelined_kernel(const Parameters p) {
  auto& shared = shared_memory<TileShared<Tile, OrderA, OrderB>>();
  const GemmArguments& g = p.gemm;
  const int64_t m0 = blockIdx.x / p.tiles_n * Tile::kM, n0 = blockIdx.x % p.tiles_n * Tile::kN;
  const int64_t k0 = blockIdx.y * p.k_per_split;
  const int64_t k = min(g.k - k0, p.k_per_split);

  MatrixLoader<OrderA, KTileA<Tile, OrderA>, Tile::kM, Tile> a(
      g.a + (OrderA == Order::k_major ? m0 * g.a_stride + k0 : k0 * g.a_stride + m0), g.a_stride, g.m - m0, k,
      p.a_width);
  MatrixLoader<OrderB, KTileB<Tile, OrderB>, Tile::kN, Tile> b(
      g.b + (OrderB == Order::k_major ? n0 * g.b_stride + k0 : k0 * g.b_stride + n0), g.b_stride, g.n - n0, k,
      p.b_width);
  Accumulators<Tile> acc;
  tile_mainloop<Tile, OrderA, OrderB>(acc, shared, a, b, ceil_div<int64_t>(k, Tile::kK));

  const ThreadInTile thread = thread_in_tile<Tile>();
  const int64_t column = n0 + thread.n * Tile::kPerThreadN;
  RONDO_UNROLL
  for (int i = 0; i < Tile::kPerThreadM; ++i) {
    const int64_t row = m0 + KTileA<Tile, OrderA>::row(thread.m, i);
    if (row < g.m) {
      float* to = p.partials.data ? p.partials.row(blockIdx.y, row) : g.c + row * g.c_stride;
      p.epilogue.store_row(to, column, g.n, acc.row[i]);
    }
  }
}

template <class Tile, Order OrderA, Order OrderB>
Status launch_kernel(const char* name, Parameters& p, int64_t splits, cudaStream_t stream) {
  p.tiles_n = ceil_div<int64_t>(p.gemm.n, Tile::kN);
  const LaunchShape shape = {.grid_x = ceil_div<int64_t>(p.gemm.m, Tile::kM) * p.tiles_n,
                             .grid_y = splits,
                             .block_x = Tile::kThreads,
                             .shared_bytes = sizeof(TileShared<Tile, OrderA, OrderB>)};
  return launch(name, shape, stream, gemm_06_pipelined_kernel<Tile, OrderA, OrderB>, p);
}

}  // namespace

Status launch_gemm_06(const char* name, const GemmArguments& g, GemmConfig config, Workspace workspace,
                      cudaStream_t stream) {
  if (g.m == 0 || g.n == 0) return {};
  const bool split = config.splits > 1;

  Parameters p = {};
  p.gemm = g;
  p.a_width = copy_width(g.a, g.a_stride, g.transpose_a ? g.m : g.k);
  p.b_width = copy_width(g.b, g.b_stride, g.transpose_b ? g.k : g.n);
  p.k_per_split = split ? config.k_per_split : std::max<int64_t>(g.k, 1);
  p.epilogue = split ? Epilogue{.aligned = true} : gemm_epilogue(g);
  if (split) p.partials = {static_cast<float*>(workspace.data), g.m, g.n, config.splits};

  RONDO_RETURN_IF_ERROR(with_tile(config.tile, [&]<class Tile>() {
    constexpr Order k_major = Order::k_major, mn_major = Order::mn_major;
    if (g.transpose_a)
      return g.transpose_b ? launch_kernel<Tile, mn_major, k_major>(name, p, config.splits, stream)
                           : launch_kernel<Tile, mn_major, mn_major>(name, p, config.splits, stream);
    return g.transpose_b ? launch_kernel<Tile, k_major, k_major>(name, p, config.splits, stream)
                         : launch_kernel<Tile, k_major, mn_major>(name, p, config.splits, stream);
  }));
  return split ? sum_partials(p.partials, g.c, g.c_stride, 1, gemm_epilogue(g), stream) : Status();
}

Status gemm_06_pipelined(MatrixView<float> c, MatrixView<const float> a, MatrixView<const float> b,
                         const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  GemmArguments arguments;
  RONDO_RETURN_IF_ERROR(
      check_gemm("gemm_06_pipelined", SplitsK::yes, c, a, b, options, workspace, &arguments));
  DeviceFacts device;
  RONDO_RETURN_IF_ERROR(device_facts(&device));
  GemmConfig config = split_k({arguments.m, arguments.n, arguments.k});
  const TileFacts& large = tile_facts()[static_cast<size_t>(TileId::k128x128)];
  const bool fits = shared_bytes(large, {order_of_a(arguments)}) <= device.shared_bytes_per_block;
  config.tile = fits ? TileId::k128x128 : TileId::k64x64;
  return launch_gemm_06("gemm_06_pipelined", arguments, config, workspace, stream);
}

}  // namespace rondo
