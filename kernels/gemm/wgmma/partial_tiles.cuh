// The sums of divided tiles in stream_k_kernel.cuh: where they are stored, and who adds them.
#pragma once

#include <rondo/kernels/gemm/stream_k.cuh>
#include <rondo/kernels/gemm/wgmma/warp_specialized.cuh>

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
  __device__ __forceinline__ float* sums_of(const StreamKWorkUnit& unit, int part) const {
    // Part 0 ends its block's range of k-tiles (slot 1). Any other part begins one (slot 0).
    const int64_t slot = 2 * (unit.first_block + part) + (part == 0 ? 1 : 0);
    const unsigned thread = threadIdx.x - kWarpgroup;
    return sums + (slot * kWarps + thread / 32) * (kQuads * 128) + thread % 32 * 4;
  }

  // Stores the sums of the calling warp. Of the warps that compute the same rows, the last one to arrive
  // returns true, with the sums of all parts. They are added in the order of k, so it does not matter which
  // warp is the last. No warp waits for another.
  __device__ __forceinline__ bool add(WgmmaAccumulators<Tile>& acc, const StreamKWorkUnit& unit) const {
    float* const own = sums_of(unit, unit.part);
    RONDO_UNROLL_ON_GPU
    for (int quad = 0; quad < kQuads; ++quad) {
      Vec<4> values;
      RONDO_UNROLL
      for (int e = 0; e < 4; ++e) values.set(e, acc.d[0][4 * quad + e]);
      values.store(own + quad * 128);
    }
    __syncwarp();
    unsigned arrived_before = 0;
    if (threadIdx.x % 32 == 0) {
      __threadfence();  // the stores of the warp come before its arrival
      arrived_before = atomicAdd(arrived + unit.first_block * kWarps + (threadIdx.x - kWarpgroup) / 32, 1u);
      __threadfence();  // the arrivals of the others come before the loads
    }
    arrived_before = __shfl_sync(~0u, arrived_before, 0);
    if (arrived_before + 1 < static_cast<unsigned>(unit.parts)) return false;
    __syncwarp();

    // Part 0 and part 1 may be added in either order. A later part has to be added to their sum, so it is
    // loaded, too. -0 is the identity of addition.
    const bool in_place = unit.part <= 1;
    RONDO_UNROLL_ON_GPU
    for (int i = 0; i < Tile::kN / 2; ++i)
      if (!in_place) acc.d[0][i] = -0.0f;
    RONDO_UNROLL_BY(1)
    for (int part = 0; part < unit.parts; ++part) {
      if (in_place && part == unit.part) continue;
      const float* const from = sums_of(unit, part);
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

}  // namespace rondo
