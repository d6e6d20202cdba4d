// The shape of a block's work and of its shared memory.
//
// A block computes a tile of kM x kN results, kK values of the inner dimension at a time (a *slab*). Its
// threads form a grid of kThreadsM x kThreadsN, and each keeps a *register tile* of kPerThreadM rows of
// kPerThreadN adjacent columns. The slab of A and the slab of B lie in shared memory, kStages of each.
#pragma once

#include <rondo/kernels/gemm/gemm_config.h>
#include <rondo/kernels/core/lanes.cuh>

#include <cstdint>

namespace rondo {

template <int ThreadsM, int ThreadsN, int PerThreadM, int PerThreadN, int K, int Stages>
struct Tile {
  static constexpr int kThreadsM = ThreadsM, kThreadsN = ThreadsN, kThreads = ThreadsM * ThreadsN;
  static constexpr int kPerThreadM = PerThreadM, kPerThreadN = PerThreadN;
  // Blocks that a multiprocessor is to hold at once: 256 threads with 255 registers each.
  static constexpr int kBlocksAtOnce = 256 / ((kThreads + 31) / 32 * 32);
  static constexpr int kM = ThreadsM * PerThreadM, kN = ThreadsN * PerThreadN, kK = K, kStages = Stages;
  static_assert(kThreads >= kK, "every row of a slab needs a thread that copies it");
  static_assert(kK % 4 == 0 && kPerThreadM % 4 == 0 && kPerThreadN % 4 == 0);
};

// A slab that is stored with one row per row of the tile. The row is 4 floats longer than it must be, so that
// threads that read different rows at the same k hit different banks.
template <int Outer, int K>
struct RowsAlongK {
  static constexpr bool kContiguousAlongK = true;
  static constexpr int kStride = K + 4;
  static constexpr int kFloats = Outer * kStride;
  static __device__ __forceinline__ int at(int k, int outer) { return outer * kStride + k; }
};

// A slab that is stored with one row per step of k. Each thread reads PerThread adjacent values; a gap of 4
// after each thread's share lets 8 neighbours read 16 bytes each without a bank conflict (strides of 12 and
// 20 floats visit all banks in turn), and still leaves every share contiguous.
template <int Threads, int PerThread, int K>
struct RowsAcrossK {
  static constexpr bool kContiguousAlongK = false;
  static constexpr int kStride = Threads * (PerThread + 4);
  static constexpr int kFloats = K * kStride;
  static __device__ __forceinline__ int at(int k, int outer) {
    return k * kStride + outer + outer / PerThread * 4;
  }
};

template <class Tile, Order OrderA>
struct SlabA : RowsAlongK<Tile::kM, Tile::kK> {
  // The tile's row that is row i of thread row `thread`.
  static __device__ __forceinline__ int row(int thread, int i) { return thread + i * Tile::kThreadsM; }
};
template <class Tile>
struct SlabA<Tile, Order::across_k> : RowsAcrossK<Tile::kThreadsM, Tile::kPerThreadM, Tile::kK> {
  static __device__ __forceinline__ int row(int thread, int i) { return thread * Tile::kPerThreadM + i; }
};
template <class Tile>
using SlabB = RowsAcrossK<Tile::kThreadsN, Tile::kPerThreadN, Tile::kK>;

template <class Tile, Order OrderA>
struct TileShared {
  alignas(16) float a[Tile::kStages][SlabA<Tile, OrderA>::kFloats];
  alignas(16) float b[Tile::kStages][SlabB<Tile>::kFloats];
};

template <class Tile>
struct Accumulators {
  Lanes<Tile::kPerThreadN> row[Tile::kPerThreadM];
};

}  // namespace rondo
