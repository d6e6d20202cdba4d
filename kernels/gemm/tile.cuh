// The shape of a block's work and of its shared memory.
//
// A block computes a tile of kM x kN results and processes kK values of the inner dimension at a time (a
// *k-tile*). Its threads form a grid of kThreadsM x kThreadsN. Each thread has a *register tile* of
// kPerThreadM rows of kPerThreadN adjacent columns. The k-tiles of A and B are in shared memory, kStages of
// each.
#pragma once

#include <rondo/kernels/gemm/gemm_config.h>
#include <rondo/kernels/core/vec.cuh>

#include <cstdint>

namespace rondo {

// Vectors: true for tiles of the CPU executor, where a row of the register tile is one or more vector
// registers. A thread is then a fiber, and a block has few of them. Shared memory is cache: it has no banks,
// but lines of 64 bytes.
template <int ThreadsM, int ThreadsN, int PerThreadM, int PerThreadN, int K, int Stages, bool Vectors = false>
struct Tile {
  static constexpr bool kVectors = Vectors;
  static constexpr int kThreadsM = ThreadsM, kThreadsN = ThreadsN, kThreads = ThreadsM * ThreadsN;
  static constexpr int kPerThreadM = PerThreadM, kPerThreadN = PerThreadN;
  // Intended number of resident blocks per multiprocessor: 256 threads with 255 registers each.
  static constexpr int kBlocksAtOnce = 256 / ((kThreads + 31) / 32 * 32);
  static constexpr int kM = ThreadsM * PerThreadM, kN = ThreadsN * PerThreadN, kK = K, kStages = Stages;
  static_assert(Vectors ? kK % kThreads == 0 || kThreads % kK == 0 : kThreads >= kK,
                "every row of a k_tile needs a thread that copies it");
  // Floats per copy. On a GPU the lanes of a warp combine their copies to wide accesses. The executor has no
  // such lanes, but wide registers.
  static constexpr int kWidestCopy = Vectors ? 64 : 4;
  static_assert(kK % 4 == 0 && kPerThreadM % 4 == 0 && kPerThreadN % 4 == 0);
};

// A K-major k-tile: one row per row of the tile. On a GPU each row has 4 floats of padding, so that threads
// that read different rows at the same k access different banks. On a CPU the padding is a cache line, so
// that the rows do not compete for a few sets of the cache.
template <class Tile, int Outer>
struct KMajorRows {
  static constexpr bool kKMajor = true;
  static constexpr int kStride = Tile::kK + (Tile::kVectors ? 16 : 4);
  static constexpr int kFloats = Outer * kStride;
  static __device__ __forceinline__ int at(int k, int outer) { return outer * kStride + k; }
};

// An MN-major k-tile: one row per step of k. Each thread reads PerThread adjacent values. On a GPU a gap of 4
// floats after each thread's values lets 8 neighbouring threads read 16 bytes each without a bank conflict
// (strides of 12 and 20 floats access all banks in turn); the values of each thread stay contiguous. On a CPU
// the whole row is contiguous, followed by a gap of one cache line.
template <class Tile, int Threads, int PerThread>
struct MnMajorRows {
  static constexpr bool kKMajor = false;
  static constexpr int kGap = Tile::kVectors ? 0 : 4;
  static constexpr int kStride = Threads * (PerThread + kGap) + (Tile::kVectors ? 16 : 0);
  static constexpr int kFloats = Tile::kK * kStride;
  static __device__ __forceinline__ int at(int k, int outer) {
    return k * kStride + outer + outer / PerThread * kGap;
  }
};

template <class Tile, Order OrderA>
struct KTileA : KMajorRows<Tile, Tile::kM> {
  // The row of the tile that is row i of the register tile of thread row `thread`.
  static __device__ __forceinline__ int row(int thread, int i) {
    return Tile::kVectors ? thread * Tile::kPerThreadM + i : thread + i * Tile::kThreadsM;
  }
};
template <class Tile>
struct KTileA<Tile, Order::mn_major> : MnMajorRows<Tile, Tile::kThreadsM, Tile::kPerThreadM> {
  static __device__ __forceinline__ int row(int thread, int i) { return thread * Tile::kPerThreadM + i; }
};
template <class Tile>
using KTileB = MnMajorRows<Tile, Tile::kThreadsN, Tile::kPerThreadN>;

template <class Tile, Order OrderA>
struct TileShared {
  alignas(Tile::kVectors ? 64 : 16) float a[Tile::kStages][KTileA<Tile, OrderA>::kFloats];
  alignas(Tile::kVectors ? 64 : 16) float b[Tile::kStages][KTileB<Tile>::kFloats];
};

template <class Tile>
struct Accumulators {
  Vec<Tile::kPerThreadN> row[Tile::kPerThreadM];
};

}  // namespace rondo
