// The persistent kernel by stream-K: the last tiles are divided by k-tiles, evenly among the blocks
// (../stream_k.cuh). A block that has a part of a tile writes its sums to the workspace. Of the warps with
// the same rows of a tile, the last one to arrive adds their parts in the order of k, and stores the results
// (partial_tiles.cuh). No block waits for another.
#pragma once

#include <rondo/kernels/gemm/stream_k.cuh>
#include <rondo/kernels/gemm/wgmma/partial_tiles.cuh>
#include <rondo/kernels/gemm/wgmma/persistent.cuh>

namespace rondo {

template <class Tile, class T>
__device__ __forceinline__ TileWork work_of(const WarpSpecializedParameters<T>& p, const TileGrid& tiles,
                                            const StreamKWorkUnit& unit) {
  const TilePosition tile = tiles.position(static_cast<int>(unit.tile));
  return {tile.m, tile.n, 0, int64_t{unit.begin} * Tile::kK,
          min(p.product.gemm.k, int64_t{unit.end} * Tile::kK)};
}

template <class Tile, Order OrderA, Order OrderB>
__global__ __launch_bounds__(Tile::kThreads, 1) void gemm_stream_k_kernel(
    const __grid_constant__ WarpSpecializedParameters<typename Tile::Element> p, const TileGrid tiles,
    const StreamK division, const PartialTiles<Tile> partial) {
  if constexpr (!kHasSm90a) return __trap();
  auto& shared = shared_memory<WarpSpecializedShared<Tile>>();
  init_ring(shared);
  using State = PipelineState<Tile::kStages>;
  const int warpgroup = static_cast<int>(threadIdx.x) / kWarpgroup;
  const auto block = static_cast<int>(blockIdx.x);
  StreamKWorkUnit unit;
  if (warpgroup == 0) {
    ptx::warpgroup_reg_dealloc<Tile::kProducerRegisters>();
    run_producer(shared, [&](State& state) {
      for (int64_t i = 0; division.find_work_unit(block, i, &unit); ++i)
        produce<Tile, OrderA, OrderB>(p, shared, state, work_of<Tile>(p, tiles, unit));
    });
    return;
  }
  ptx::warpgroup_reg_alloc<Tile::kConsumerRegisters>();
  State state;
  WgmmaAccumulators<Tile> acc;
  for (int64_t i = 0; division.find_work_unit(block, i, &unit); ++i) {
    const TileWork work = work_of<Tile>(p, tiles, unit);
    consume<Tile, OrderA, OrderB>(acc, shared, state, k_tiles_of<Tile>(work), warpgroup - 1);
    if (unit.parts == 1 || partial.add(acc, unit))
      store_results<Tile, Tile::kGroups == 3>(p, shared, acc, work, warpgroup - 1);
  }
}

template <class Tile, class T, class C>
Status launch_stream_k(const char* name, const GemmArgumentsOf<T, C>& g, int blocks, Workspace workspace,
                       cudaStream_t stream) {
  if (g.m == 0 || g.n == 0) return {};
  WarpSpecializedParameters<T> p = {};
  RONDO_RETURN_IF_ERROR(warp_specialized_parameters<Tile>(&p, g, {}, workspace));
  TileGrid tiles;
  RONDO_RETURN_IF_ERROR(make_tile_grid(name, &tiles, ceil_div<int64_t>(g.m, Tile::kM), p.product.tiles_n));
  const StreamK division = stream_k(tiles.size(), ceil_div<int64_t>(g.k, Tile::kK), blocks);
  PartialTiles<Tile> partial = {};
  if (division.divides()) {
    partial.sums = static_cast<float*>(workspace.data);
    partial.arrived = reinterpret_cast<unsigned*>(partial.sums + int64_t{2} * blocks * Tile::kM * Tile::kN);
    const auto counters = static_cast<size_t>(blocks) * PartialTiles<Tile>::kWarps;
    RONDO_CUDA(cudaMemsetAsync(partial.arrived, 0, counters * sizeof(unsigned), stream));
  }
  const LaunchShape shape = {
      .grid_x = blocks, .block_x = Tile::kThreads, .shared_bytes = sizeof(WarpSpecializedShared<Tile>)};
  const GemmProblem problem = problem_of(g);
  return with_wgmma_orders<T>(problem.a.order, problem.b.order, [&]<Order OrderA, Order OrderB>() {
    return launch(name, shape, stream, gemm_stream_k_kernel<Tile, OrderA, OrderB>, p, tiles, division,
                  partial);
  });
}

}  // namespace rondo
