// The shape of a block's work and of its shared memory.
//
// A block computes a tile of kM x kN results and processes kK values of the inner dimension at a time (a
// *k-tile*). Its threads form a grid of kThreadsM x kThreadsN. Each thread has a *register tile* of
// kPerThreadM rows of kPerThreadN adjacent columns. The k-tiles of A and B are in shared memory, kStages of
// each. A tile of VectorThreads has one thread, which has all register tiles, one after another.
#pragma once

#include <rondo/kernels/gemm/tile_id.h>
#include <rondo/kernels/core/tile_threads.cuh>

#include <cstdint>

namespace rondo {

// Vectors: true for tiles of VectorThreads, where a row of the register tile is one or more vector registers.
// They have all arithmetics but tf32x3 (factors.cuh), the others fp32.
template <int ThreadsM, int ThreadsN, int PerThreadM, int PerThreadN, int K, int Stages, bool Vectors = false,
          Arithmetic kArithmetic = Arithmetic::fp32>
struct Tile {
  using Element = FactorOf<kArithmetic>;
  using KTileElement = float;
  using Threads = ThreadsOf<Vectors>;
  static constexpr bool kVectors = Vectors;
  static constexpr bool kTensor = false;  // see mma/tensor_tile.cuh
  static constexpr int kThreadsM = ThreadsM, kThreadsN = ThreadsN;
  static constexpr int kThreads = Vectors ? 1 : ThreadsM * ThreadsN;
  static constexpr int kPerThreadM = PerThreadM, kPerThreadN = PerThreadN;
  // Intended number of resident blocks per multiprocessor: 256 threads with 255 registers each.
  static constexpr int kBlocksAtOnce = 256 / ((kThreads + 31) / 32 * 32);
  static constexpr int kM = ThreadsM * PerThreadM, kN = ThreadsN * PerThreadN, kK = K, kStages = Stages;
  static constexpr TileId kId = {Vectors ? Instruction::vector_fma : Instruction::fma, kArithmetic, kM, kN};
  static_assert(Vectors || kArithmetic == Arithmetic::fp32);
  static_assert(Vectors || kThreads >= kK, "every row of a k_tile needs a thread that copies it");
  static constexpr int kWidestCopy = 4;  // floats of one copy to shared memory, by a GPU
  static_assert(kK % 4 == 0 && kPerThreadM % 4 == 0 && kPerThreadN % 4 == 0);
};

// A K-major k-tile: one row per row of the tile. On a GPU each row has 4 floats of padding, so that threads
// that read different rows at the same k access different banks. On a CPU the padding is a cache line, so
// that the rows do not compete for a few sets of the cache.
template <class Tile, int Outer>
struct KMajorRows {
  static constexpr bool kKMajor = true;
  static constexpr int kStride = Tile::kK + Tile::Threads::kKMajorPadding;
  static constexpr int kSize = Outer * kStride;
  static __device__ __forceinline__ int at(int k, int outer) { return outer * kStride + k; }
};

// Where threads copy kAtOnce values of row k, instead of at `offset`. Every kRows-th row begins in the same
// bank. These rows are copied in different orders, each a permutation of aligned groups of kGroup values, so
// that the copies of a warp to several rows access different banks.
template <int kRows, int kGroup, int kAtOnce>
__device__ __forceinline__ int spread_over_banks(int offset, int k) {
  if constexpr (kGroup % kAtOnce == 0)
    return offset ^ k / kRows % (kGroup / kAtOnce) * kAtOnce;
  else
    return offset;
}

// An MN-major k-tile: one row per step of k. Each thread reads PerThread adjacent values. On a GPU a gap of 4
// floats after each thread's values lets 8 neighbouring threads read 16 bytes each without a bank conflict
// (strides of 12 and 20 floats access all banks in turn); the values of each thread stay contiguous. On a CPU
// the whole row is contiguous, followed by a gap of one cache line.
//
// Rows whose length is a multiple of 32 floats would begin in the same bank. They are padded, because copies
// store to several rows at once: by 8 floats for copy_offset() below, and by 4 for Transposing
// (matrix_loaders.cuh). `Source` is the order of the memory that is copied.
template <class Tile, int Threads, int PerThread, Order Source>
struct MnMajorRows {
  static constexpr bool kKMajor = false;
  static constexpr int kGap = Tile::Threads::kGap;
  static constexpr int kValues = Threads * (PerThread + kGap);
  static constexpr int kGpuPadding = kValues % 32 != 0 ? 0 : Source == Order::k_major ? 4 : 8;
  static constexpr int kStride = kValues + (Tile::kVectors ? Tile::Threads::kLine : kGpuPadding);
  static constexpr int kSize = Tile::kK * kStride;
  static __device__ __forceinline__ int at(int k, int outer) {
    return k * kStride + outer + outer / PerThread * kGap;
  }

  // kPerRow threads copy row k, V values at a time. Returns the first value of copy `step` of thread `thread`
  // of them. The hardware stores 16 bytes of 8 lanes at a time. If 4 threads copy a row, these are 2 rows, 8
  // floats apart in the banks. Two of the 4 threads then copy the values of one reader, a sector of global
  // memory, and the other two those of the reader 4 further, 16 banks away. So the 8 lanes cover all banks.
  // It stores narrower copies 16 or 32 lanes at a time, to more rows than begin in different banks.
  template <int V, int kPerRow>
  static __device__ __forceinline__ int copy_offset(int thread, int k, int step) {
    if constexpr (V == 4 && kPerRow == 4 && Threads % 8 == 0) {
      constexpr int kPairs = 4 * PerThread / 8;  // pairs of copies to the values of 4 readers
      return 8 * (step / kPairs * 2 * kPairs + step % kPairs + thread / 2 * kPairs) + thread % 2 * 4;
    }
    const int offset = (step * kPerRow + thread) * V;
    constexpr int kBanks = kStride % 32;  // from a row to the next
    static_assert(Threads * PerThread % 8 == 0, "spread_over_banks() permutes groups of 8");
    if constexpr (kBanks == 4 || kBanks == 8)
      return spread_over_banks<32 / kBanks, kBanks, kPerRow * V>(offset, k);
    return offset;
  }
};

// The row and the column of the calling thread in the tile's grid of threads.
//
// On a GPU a warp is 4 rows x 8 columns of threads, in an order for which the hardware combines 16-byte loads
// (tools/simt/include/simt/warp_access.h): lanes T and T ^ 1 have one column, so they read the same values of
// B; lanes T and T ^ 2 have one row, so they read the same values of A. Each load then takes 2 wavefronts
// instead of 4.
struct ThreadInTile {
  int m, n;
};
template <class Tile>
__device__ __forceinline__ ThreadInTile thread_in_tile() {
  const int thread = static_cast<int>(threadIdx.x);
  if constexpr (Tile::kThreadsM % 4 == 0 && Tile::kThreadsN % 8 == 0) {
    constexpr int kWarpsN = Tile::kThreadsN / 8;
    const int lane = thread % 32, warp = thread / 32;
    return {warp / kWarpsN * 4 + lane / 16 * 2 + lane % 2, warp % kWarpsN * 8 + lane / 2 % 8};
  }
  return {thread / Tile::kThreadsN, thread % Tile::kThreadsN};
}

template <class Tile, Order OrderA>
struct KTileA : KMajorRows<Tile, Tile::kM> {
  // The row of the tile that is row i of the register tile of thread row `thread`.
  static __device__ __forceinline__ int row(int thread, int i) {
    return Tile::kVectors ? thread * Tile::kPerThreadM + i : thread + i * Tile::kThreadsM;
  }
};
template <class Tile>
struct KTileA<Tile, Order::mn_major>
    : MnMajorRows<Tile, Tile::kThreadsM, Tile::kPerThreadM, Order::mn_major> {
  static __device__ __forceinline__ int row(int thread, int i) { return thread * Tile::kPerThreadM + i; }
};
// MN-major in shared memory, whatever the order of B is in global memory.
template <class Tile, Order OrderB>
struct KTileB : MnMajorRows<Tile, Tile::kThreadsN, Tile::kPerThreadN, OrderB> {};

// The default of OrderB has the longest rows of B.
template <class Tile, Order OrderA, Order OrderB = Order::mn_major>
struct TileShared {
  static constexpr int kAlignment = Tile::kTensor ? 128 : Tile::Threads::kAlignment;
  alignas(kAlignment) typename Tile::Element a[Tile::kStages][KTileA<Tile, OrderA>::kSize];
  alignas(kAlignment) typename Tile::Element b[Tile::kStages][KTileB<Tile, OrderB>::kSize];
};

template <class Tile>
struct Accumulators {
  Vec<Tile::kPerThreadN> row[Tile::kPerThreadM];
};

// The one thread of a vector tile has its register tiles in shared memory, which is cache.
template <class Tile, Order OrderA, Order OrderB>
requires Tile::kVectors struct TileShared<Tile, OrderA, OrderB> {
  static constexpr int kAlignment = Tile::Threads::kAlignment;
  alignas(kAlignment) float a[KTileA<Tile, OrderA>::kSize];
  alignas(kAlignment) float b[KTileB<Tile, OrderB>::kSize];
  alignas(kAlignment) float sums[Tile::kM * Tile::kN];
};
template <class Tile>
requires Tile::kVectors struct Accumulators<Tile> {
  using Columns = Vec<Tile::kPerThreadN>;
  static constexpr int kRegisterTile = Tile::kPerThreadM * Tile::kPerThreadN;
  const float *a = nullptr, *b = nullptr;  // the k-tiles
  float* sums = nullptr;                   // the rows of a register tile one after the other
  int tiles_m = 0, tiles_n = 0;            // register tiles with results
  int k = 0;                               // of the k-tiles
  bool first = true;                       // whether the sums are still 0

  __device__ __forceinline__ float* register_tile(int m, int n) const {
    return sums + (n * Tile::kThreadsM + m) * kRegisterTile;
  }

  // to = the sums of register tile (m, n) + (k-tile of A) * (k-tile of B).
  template <Order OrderA>
  __device__ __forceinline__ void multiply(int m, int n, float* to) const {
    using A = KTileA<Tile, OrderA>;
    using B = KTileB<Tile, Order::mn_major>;
    const float* const from = register_tile(m, n);
    const float* b_row = b + B::at(0, n * Tile::kPerThreadN);
    const float* a_k = a + A::at(0, A::row(m, 0));
    Columns row[Tile::kPerThreadM];
    RONDO_UNROLL
    for (int i = 0; i < Tile::kPerThreadM; ++i)
      row[i] = first ? Columns::zero() : Columns::load(from + i * Tile::kPerThreadN);
    // Reads the values of A one by one when needed, which leaves the registers for the sums.
    constexpr int kRowStep = OrderA == Order::k_major ? A::kStride : 1;
    constexpr int kStep = OrderA == Order::k_major ? 1 : A::kStride;
    RONDO_UNROLL_BY(4)
    for (int step = 0; step < k; ++step) {
      const Columns columns = Columns::load(b_row + step * B::kStride);
      RONDO_UNROLL
      for (int i = 0; i < Tile::kPerThreadM; ++i)
        row[i].add_product(a_k[i * kRowStep + step * kStep], columns);
    }
    RONDO_UNROLL
    for (int i = 0; i < Tile::kPerThreadM; ++i) row[i].store(to + i * Tile::kPerThreadN);
  }
};

// Calls visit(row, column, values) for each row of the calling thread's results. `values` are those of
// adjacent columns, from `column` on; both numbers count from the tile's first.
template <class Tile, Order OrderA, class Visit>
__device__ __forceinline__ void visit_results(const Accumulators<Tile>& acc, Visit&& visit) {
  const ThreadInTile thread = thread_in_tile<Tile>();
  RONDO_UNROLL
  for (int i = 0; i < Tile::kPerThreadM; ++i)
    visit(KTileA<Tile, OrderA>::row(thread.m, i), thread.n * Tile::kPerThreadN, acc.row[i]);
}

// Calls prepare(row, column) before and finish(row, column, results) after the sums of each register tile are
// computed. Row and column are those of its first result, and its rows are kPerThreadN values apart.
template <class Tile, Order OrderA, class Prepare, class Finish>
__device__ __forceinline__ void visit_register_tiles(const Accumulators<Tile>& acc, Prepare&& prepare,
                                                     Finish&& finish) {
  alignas(64) float results[Accumulators<Tile>::kRegisterTile];
  for (int n = 0; n < acc.tiles_n; ++n)
    for (int m = 0; m < acc.tiles_m; ++m) {
      prepare(m * Tile::kPerThreadM, n * Tile::kPerThreadN);
      acc.template multiply<OrderA>(m, n, results);
      finish(m * Tile::kPerThreadM, n * Tile::kPerThreadN, results);
    }
}

template <class Tile, Order OrderA, class Visit>
requires Tile::kVectors __device__ __forceinline__ void visit_results(const Accumulators<Tile>& acc,
                                                                      Visit&& visit) {
  visit_register_tiles<Tile, OrderA>(
      acc, [](int, int) {},
      [&](int row, int column, const float* results) {
        for (int i = 0; i < Tile::kPerThreadM; ++i)
          visit(row + i, column, Vec<Tile::kPerThreadN>::load(results + i * Tile::kPerThreadN));
      });
}

// visit_results() for kernels that are for all kinds of tiles: those of tensor cores store through `shared`.
template <class Tile, Order OrderA, class Shared, class Store>
__device__ __forceinline__ void store_tile(Shared&, const Accumulators<Tile>& acc, const Store& store) {
  visit_results<Tile, OrderA>(acc, store);
}

}  // namespace rondo
