// The kernel of gemm_tc_09_stream_k. Each .cu file instantiates it for one element type, so that they are
// compiled side by side.
#pragma once

#include <rondo/kernels/gemm/gemm_tc_09_stream_k.h>
#include <rondo/kernels/gemm/gemm_tc_07_persistent.cuh>
#include <rondo/kernels/gemm/stream_k.cuh>

namespace rondo {

// The sums of the tiles that have several parts. A block has at most two such tiles, its first and its last,
// and room for the sums of both. Warp w of a block has the same rows of a tile as warp w of every other
// block, so each warp counts and adds for itself: no barrier of the block is needed.
template <class Tile>
struct PartialTiles {
  static_assert(Tile::kPanelsM == 1);
  static constexpr int kWarps = 4 * Tile::kGroups;  // of consumers
  static constexpr int kQuads = Tile::kN / 8;       // groups of four sums of a thread

  float* sums;        // [2 * blocks][kWarps][kQuads][32 lanes][4]
  unsigned* arrived;  // [blocks][kWarps]: parts of the tile whose first part is computed by this block

  // The calling thread's first four sums of a part. Those of the lanes of a warp are side by side.
  __device__ __forceinline__ float* sums_of(const StreamKPiece& piece, int part) const {
    // The block that computes part 0 begins the tile, so it is its last one. It is the first one of others.
    const int64_t slot = 2 * (piece.first_block + part) + (part == 0 ? 1 : 0);
    const unsigned thread = threadIdx.x - kWarpgroup;
    return sums + (slot * kWarps + thread / 32) * (kQuads * 128) + thread % 32 * 4;
  }

  // Stores the sums of the calling warp. Of the warps that compute the same rows, the last one to arrive
  // returns true, with the sums of all parts. They are added in the order of k, so it does not matter which
  // warp is the last. No warp waits for another.
  __device__ __forceinline__ bool add(WgmmaAccumulators<Tile>& acc, const StreamKPiece& piece) const {
    float* const own = sums_of(piece, piece.part);
    RONDO_UNROLL_ON_GPU
    for (int quad = 0; quad < kQuads; ++quad) {
      Vec<4> values;
      RONDO_UNROLL
      for (int e = 0; e < 4; ++e) values.set(e, acc.d[0][4 * quad + e]);
      values.store(own + quad * 128);
    }
    __syncwarp();
    unsigned before = 0;
    if (threadIdx.x % 32 == 0) {
      __threadfence();  // the stores of the warp come before its arrival
      before = atomicAdd(arrived + piece.first_block * kWarps + (threadIdx.x - kWarpgroup) / 32, 1u);
      __threadfence();  // the arrivals of the others come before the loads
    }
    before = __shfl_sync(~0u, before, 0);
    if (before + 1 < static_cast<unsigned>(piece.parts)) return false;
    __syncwarp();

    // Part 0 and part 1 may be added in either order. A later part has to be added to their sum, so it is
    // loaded, too. The sum begins with -0, which changes no summand.
    const bool in_place = piece.part <= 1;
    RONDO_UNROLL_ON_GPU
    for (int i = 0; i < Tile::kN / 2; ++i)
      if (!in_place) acc.d[0][i] = -0.0f;
    RONDO_UNROLL_BY(1)
    for (int part = 0; part < piece.parts; ++part) {
      if (in_place && part == piece.part) continue;
      const float* const from = sums_of(piece, part);
      RONDO_UNROLL_ON_GPU
      for (int quad = 0; quad < kQuads; ++quad) {
        const auto values = Vec<4>::load(from + quad * 128);
        RONDO_UNROLL
        for (int e = 0; e < 4; ++e) acc.d[0][4 * quad + e] += values[e];
      }
    }
    return true;
  }
};

template <class Tile, class T>
__device__ __forceinline__ TileWork work_of(const WarpSpecializedParameters<T>& p, const TileGrid& tiles,
                                            const StreamKPiece& piece) {
  const TilePosition tile = tile_position(piece.tile, tiles.m, tiles.n);
  return {tile.m * Tile::kM, tile.n * Tile::kN, int64_t{piece.begin} * Tile::kK,
          min(p.product.gemm.k, int64_t{piece.end} * Tile::kK), 0};
}

template <class Tile, Order OrderA, Order OrderB>
__global__ __launch_bounds__(Tile::kThreads, 1) void gemm_tc_09_stream_k_kernel(
    const __grid_constant__ WarpSpecializedParameters<typename Tile::Element> p, const TileGrid tiles,
    const StreamK division, const PartialTiles<Tile> partial) {
  auto& shared = shared_memory<WarpSpecializedShared<Tile>>();
  init_ring(shared);
  PipelineState<Tile::kStages> state;
  const int warpgroup = static_cast<int>(threadIdx.x) / kWarpgroup;
  const auto block = static_cast<int>(blockIdx.x);
  StreamKPiece piece;
  if (warpgroup == 0) {
    ptx::warpgroup_reg_dealloc<Tile::kProducerRegisters>();
    if (threadIdx.x < 32 && ptx::elect_one())
      for (int64_t i = 0; division.find_piece(block, i, &piece); ++i)
        produce<Tile, OrderA, OrderB>(p, shared, state, work_of<Tile>(p, tiles, piece));
    return;
  }
  ptx::warpgroup_reg_alloc<Tile::kConsumerRegisters>();
  WgmmaAccumulators<Tile> acc;
  for (int64_t i = 0; division.find_piece(block, i, &piece); ++i) {
    const TileWork work = work_of<Tile>(p, tiles, piece);
    consume<Tile, OrderA, OrderB>(acc, shared, state, k_tiles_of<Tile>(work), warpgroup - 1);
    if (piece.parts == 1 || partial.add(acc, piece)) store_results(p, shared, acc, work, warpgroup - 1);
  }
}

template <class Tile, class T, class C>
Status launch_stream_k_with(const char* name, const GemmArgumentsOf<T, C>& g, int blocks, Workspace workspace,
                            cudaStream_t stream) {
  if (g.m == 0 || g.n == 0) return {};
  WarpSpecializedParameters<T> p = {};
  RONDO_RETURN_IF_ERROR(warp_specialized_parameters<Tile>(&p, g, {}, workspace));
  const TileGrid tiles = {ceil_div<int64_t>(g.m, Tile::kM), p.product.tiles_n, 1};
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
    return launch(name, shape, stream, gemm_tc_09_stream_k_kernel<Tile, OrderA, OrderB>, p, tiles, division,
                  partial);
  });
}

template <class T, class C>
Status launch_gemm_stream_k(const char* name, WgmmaTileId tile, const GemmArgumentsOf<T, C>& g, int blocks,
                            Workspace workspace, cudaStream_t stream) {
  if (tile == WgmmaTileId::kPairOf128x256)
    return bad_argument(name, ": stream-K has tiles of single blocks only");
  return with_single_block_tile<T>(
      tile, [&]<class Tile>() { return launch_stream_k_with<Tile>(name, g, blocks, workspace, stream); });
}

}  // namespace rondo
