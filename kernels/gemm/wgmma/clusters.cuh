// The persistent kernel for clusters of two blocks: two tiles one below the other need the same columns of B.
// Each block loads its rows of A and half of the columns of B, and a multicast copies that half to both, so
// L2 sends 2/3 of the bytes. A stage is free when the consumers of both blocks are done with it, so each
// consumer warp arrives at a barrier of its own block and of the other.
#pragma once

#include <rondo/kernels/core/ptx/cluster.cuh>
#include <rondo/kernels/gemm/wgmma/persistent.cuh>

namespace rondo {

// Loads this block's half of a k-tile of B to both blocks: the columns from rank * kN / 2 on.
template <class Tile, Order order>
__device__ __forceinline__ void load_b_multicast(unsigned char* to, const CUtensorMap& map, int64_t n0,
                                                 int64_t k, ptx::Mbarrier* full) {
  constexpr int kColumns = Tile::kN / kClusterBlocks<Tile>;
  constexpr uint16_t kBothBlocks = 0b11;
  static_assert(kClusterBlocks<Tile> == 2 && kColumns % 64 == 0);
  const int begin = static_cast<int>(blockIdx.x % kClusterBlocks<Tile>) * kColumns;
  const int column = static_cast<int>(n0) + begin, step = static_cast<int>(k);
  unsigned char* const half = to + begin * kLineBytes;
  if constexpr (order == Order::k_major) {
    ptx::tma_load_multicast(half, map, {step, column}, full, kBothBlocks);
  } else {
    RONDO_UNROLL
    for (int i = 0; i < kColumns / 64; ++i)
      ptx::tma_load_multicast(half + i * kPanelBytes, map, {column + i * 64, step}, full, kBothBlocks);
  }
}

// produce() in a cluster: a stage is filled once the consumers of both blocks have released it, because half
// of its B goes to the other block.
template <class Tile, Order OrderA, Order OrderB, class T>
__device__ __forceinline__ void produce_in_cluster(const WarpSpecializedParameters<T>& p,
                                                   WgmmaShared<Tile>& shared,
                                                   PipelineState<Tile::kStages>& state,
                                                   const TileWork& work) {
  for (int64_t k = work.k_begin; k < work.k_end; k += Tile::kK) {
    ptx::Mbarrier* const full = &shared.full[state.stage];
    ptx::mbarrier_wait(&shared.empty[state.stage], state.parity ^ 1);
    ptx::mbarrier_arrive_expect_tx(full, Tile::kBytes);  // includes the half of B that the other block loads
    load_k_tile<Tile, OrderA, Tile::kM>(shared.a[state.stage], p.a, work.first_row<Tile>(), k, full);
    load_b_multicast<Tile, OrderB>(shared.b[state.stage], p.b, work.first_column<Tile>(), k, full);
    state.advance();
  }
}

// release_stage() in both blocks of the cluster. Nothing is handed over but the room: wgmma has read the
// stage, and the next thing to write there is a copy.
template <class Tile>
__device__ __forceinline__ void release_stage_in_cluster(WgmmaShared<Tile>& shared, int stage) {
  const unsigned lane = threadIdx.x % 32;
  if (lane < kClusterBlocks<Tile>) ptx::cluster_arrive_at_relaxed(&shared.empty[stage], lane);
}

template <class Tile, Order OrderA, Order OrderB>
__global__ __launch_bounds__(Tile::kThreads, 1) void gemm_clusters_kernel(
    const __grid_constant__ WarpSpecializedParameters<typename Tile::Element> p, const TileGrid tiles) {
  if constexpr (!kHasSm90a) return __trap();
  auto& shared = shared_memory<WarpSpecializedShared<Tile>>();
  init_ring(shared, kClusterBlocks<Tile>);
  ptx::cluster_sync();  // the other block's barriers are initialized
  using State = PipelineState<Tile::kStages>;
  const int warpgroup = static_cast<int>(threadIdx.x) / kWarpgroup;
  if (warpgroup == 0) {
    ptx::warpgroup_reg_dealloc<Tile::kProducerRegisters>();
    run_producer(shared, [&](State& state) {
      for_each_tile<Tile>(p, tiles, [&](const TileWork& work) {
        produce_in_cluster<Tile, OrderA, OrderB>(p, shared, state, work);
      });
    });
    return;
  }
  ptx::warpgroup_reg_alloc<Tile::kConsumerRegisters>();
  State state;
  WgmmaAccumulators<Tile> acc;
  for_each_tile<Tile>(p, tiles, [&](const TileWork& work) {
    consume<Tile, OrderA, OrderB>(acc, shared, state, k_tiles_of<Tile>(work), warpgroup - 1,
                                  [&](int stage) { release_stage_in_cluster(shared, stage); });
    store_results(p, shared, acc, work, warpgroup - 1);
  });
  ptx::cluster_sync();  // the other block may still arrive at barriers of this one
}

}  // namespace rondo
