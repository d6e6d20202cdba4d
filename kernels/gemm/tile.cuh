// The shape of a block's work and of its shared memory.
//
// A block computes a tile of kM x kN results, kK values of the inner dimension at a time (a *k-tile*). Its
// threads form a grid of kThreadsM x kThreadsN, and each keeps a *register tile* of kPerThreadM rows of
// kPerThreadN adjacent columns. The k-tile of A and the k-tile of B lie in shared memory, kStages of each.
#pragma once

#include <rondo/kernels/gemm/gemm_config.h>
#include <rondo/kernels/core/vec.cuh>

#include <cstdint>

namespace rondo {

// Vectors: a row of the register tile is whole vector registers of a CPU. Then a thread is a fiber, of which a block
// has few, and shared memory is cache: no banks, but lines of 64 bytes.
template <int ThreadsM, int ThreadsN, int PerThreadM, int PerThreadN, int K, int Stages, bool Vectors = false>
struct Tile {
  static constexpr bool kVectors = Vectors;
  static constexpr int kThreadsM = ThreadsM, kThreadsN = ThreadsN, kThreads = ThreadsM * ThreadsN;
  static constexpr int kPerThreadM = PerThreadM, kPerThreadN = PerThreadN;
  // Blocks that a multiprocessor is to hold at once: 256 threads with 255 registers each.
  static constexpr int kBlocksAtOnce = 256 / ((kThreads + 31) / 32 * 32);
  static constexpr int kM = ThreadsM * PerThreadM, kN = ThreadsN * PerThreadN, kK = K, kStages = Stages;
  static_assert(Vectors ? kK % kThreads == 0 || kThreads % kK == 0 : kThreads >= kK,
                "every row of a k_tile needs a thread that copies it");
  // Floats that one copy may take. The executor has no lanes that share a wide access, but wide registers.
  static constexpr int kWidestCopy = Vectors ? 64 : 4;
  static_assert(kK % 4 == 0 && kPerThreadM % 4 == 0 && kPerThreadN % 4 == 0);
};

// A k-tile that is stored with one row per row of the tile. The row is 4 floats longer than it must be, so that
// threads that read different rows at the same k hit different banks; or a cache line, so that the rows do not compete
// for a few sets of the cache.
template <class Tile, int Outer>
struct KMajorRows {
  static constexpr bool kKMajor = true;
  static constexpr int kStride = Tile::kK + (Tile::kVectors ? 16 : 4);
  static constexpr int kFloats = Outer * kStride;
  static __device__ __forceinline__ int at(int k, int outer) { return outer * kStride + k; }
};

// A k-tile that is stored with one row per step of k. Each thread reads PerThread adjacent values; a gap of 4
// after each thread's share lets 8 neighbours read 16 bytes each without a bank conflict (strides of 12 and
// 20 floats visit all banks in turn), and still leaves every share contiguous. In a cache the whole row is contiguous,
// with a gap of one line behind it.
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
  // The tile's row that is row i of thread row `thread`.
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
