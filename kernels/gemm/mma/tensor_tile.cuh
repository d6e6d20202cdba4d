// Tiles whose products are computed by tensor cores. They have the interface of Tile (fma/tile.cuh), so the
// loaders and kernels of fma/ and of the convolutions use them too.
//
// A block computes kM x kN results. Each of its warps computes kWarpM x kWarpN of them, as a grid of 16 x 8
// fragments. A k-tile has 128 bytes of each row and column: 32 values of tf32, or 64 of 16 bits. That is four
// steps of mma.sync.
//
// Shared memory without bank conflicts:
//   K-major: rows of 128 bytes, cut into 8 chunks of 16 bytes. Chunk c of row r is stored at c ^ (r & 7). So
//     the 8 rows that ldmatrix reads at once, at one k, lie in different banks, and so do the 8 chunks of a
//     row that a copy stores.
//   MN-major, 16 bits: rows of one k; chunks permuted in the same way, by k. Read with ldmatrix.trans.
//   MN-major, tf32: rows of one k, 8 floats longer than the tile. ldmatrix transposes only 16-bit elements,
//     so the fragments are read with 4-byte loads: lane 4 g + t reads (k = t, row g), in bank 8 t + g.
#pragma once

#include <rondo/kernels/core/ptx/mma.cuh>
#include <rondo/kernels/gemm/fma/tile.cuh>
#include <rondo/kernels/gemm/staged_rows.cuh>
#include <rondo/kernels/reduce/column_moments.cuh>

namespace rondo {

template <Arithmetic kArithmeticOfTile, int M, int N, int WarpM, int WarpN, int BlocksAtOnce, int Stages = 3>
struct TensorTile {
  using Element = FactorOf<kArithmeticOfTile>;
  using KTileElement = Element;
  using Fragment = ptx::FragmentOf<Element>;
  using Threads = GpuThreads;
  static constexpr bool kTensor = true, kVectors = false;
  static constexpr Arithmetic kArithmetic = kArithmeticOfTile;
  static constexpr TileId kId = {Instruction::mma, kArithmetic, M, N};
  static constexpr int kM = M, kN = N, kK = 128 / sizeof(Element), kStages = Stages;
  static constexpr int kWarpM = WarpM, kWarpN = WarpN, kWarpsM = M / WarpM, kWarpsN = N / WarpN;
  static constexpr int kThreads = 32 * kWarpsM * kWarpsN;
  static constexpr int kBlocksAtOnce = BlocksAtOnce;
  static constexpr int kPerChunk = 16 / sizeof(Element);  // elements
  static constexpr int kWidestCopy = kPerChunk;
  static constexpr int kFragmentsM = WarpM / 16, kFragmentsN = WarpN / 8;
  static constexpr int kSteps = 4, kPerStep = kK / kSteps;  // products of fragments in a k-tile, and their K
  static_assert(M % WarpM == 0 && N % WarpN == 0 && WarpM % 16 == 0 && WarpN % 32 == 0 && Stages >= 2);
};

template <class Tile, int Outer>
struct SwizzledKMajorRows {
  static constexpr bool kKMajor = true;
  static constexpr int kSize = Outer * Tile::kK;
  static __device__ __forceinline__ int at(int k, int outer) {
    constexpr int kChunk = Tile::kPerChunk;
    return outer * Tile::kK + ((k / kChunk) ^ (outer & 7)) * kChunk + k % kChunk;
  }
};

template <class Tile, int Outer>
struct TensorMnMajorRows {
  static constexpr bool kKMajor = false;
  static constexpr bool kSwizzled = sizeof(typename Tile::Element) == 2;
  static constexpr int kStride = Outer + (kSwizzled ? 0 : 8);
  static constexpr int kSize = Tile::kK * kStride;
  static_assert(Outer % 32 == 0);  // rows of floats begin 8 banks apart
  static __device__ __forceinline__ int at(int k, int outer) {
    if constexpr (kSwizzled) return k * kStride + ((outer / 8) ^ (k & 7)) * 8 + outer % 8;
    return k * kStride + outer;
  }

  // As MnMajorRows::copy_offset(). The hardware stores 16 bytes of 8 lanes at a time. If 4 threads copy a row
  // of floats, these are 2 rows, 8 banks apart. The threads of a row then copy two pairs of chunks, 16 banks
  // apart, so the 8 lanes cover all banks. If 2 or 4 threads copy a swizzled row, the 8 lanes store to 4 or 2
  // rows. Rows k and k + 1 have the same chunks in the same pair of places, so odd rows are copied 4 chunks
  // ahead (modulo 8). Narrower copies store more rows at a time: rows k and k + 4 of floats begin in the same
  // bank. With 16 bits a conflict of two rows, k and k + 8, remains: the other order spills registers.
  template <int V, int kPerRow>
  static __device__ __forceinline__ int copy_offset(int thread, int k, int step) {
    if constexpr (V == 4 && kPerRow == 4 && !kSwizzled)
      return thread % 2 * 4 + thread / 2 * 16 + step % 2 * 8 + step / 2 * 32;
    if constexpr (V == 8 && (kPerRow == 2 || kPerRow == 4) && kSwizzled && Outer % 64 == 0)
      return ((step ^ (k % 2 * (4 / kPerRow))) * kPerRow + thread) * V;
    const int offset = (step * kPerRow + thread) * V;
    return kSwizzled ? offset : spread_over_banks<4, 8, kPerRow * V>(offset, k);
  }
};

template <class Tile>
requires Tile::kTensor struct KTileA<Tile, Order::k_major> : SwizzledKMajorRows<Tile, Tile::kM> {
};
template <class Tile>
requires Tile::kTensor struct KTileA<Tile, Order::mn_major> : TensorMnMajorRows<Tile, Tile::kM> {
};
template <class Tile>
requires Tile::kTensor struct KTileB<Tile, Order::k_major> : SwizzledKMajorRows<Tile, Tile::kN> {
};
template <class Tile>
requires Tile::kTensor struct KTileB<Tile, Order::mn_major> : TensorMnMajorRows<Tile, Tile::kN> {
};

template <class Tile>
requires Tile::kTensor struct Accumulators<Tile> {
  float d[Tile::kFragmentsM][Tile::kFragmentsN][4];
};

// The first row and column of the calling warp's results in the tile, and the lane's g and t
// (core/ptx/mma.cuh).
struct LaneInTile {
  int m, n, g, t;
};
template <class Tile>
__device__ __forceinline__ LaneInTile lane_in_tile() {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  return {warp / Tile::kWarpsN * Tile::kWarpM, warp % Tile::kWarpsN * Tile::kWarpN, lane / 4, lane % 4};
}

// Calls visit(row, column, values) for each row of the calling thread's results: 2 adjacent columns.
template <class Tile, Order OrderA, class Visit>
requires Tile::kTensor __device__ __forceinline__ void visit_results(const Accumulators<Tile>& acc,
                                                                     Visit&& visit) {
  const LaneInTile lane = lane_in_tile<Tile>();
  RONDO_UNROLL
  for (int i = 0; i < Tile::kFragmentsM; ++i) RONDO_UNROLL
  for (int half = 0; half < 2; ++half) RONDO_UNROLL
  for (int j = 0; j < Tile::kFragmentsN; ++j) {
    Vec<2> values;
    values.set(0, acc.d[i][j][2 * half]);
    values.set(1, acc.d[i][j][2 * half + 1]);
    visit(lane.m + 16 * i + 8 * half + lane.g, lane.n + 8 * j + 2 * lane.t, values);
  }
}

// The same for tiles whose k-tiles are in `shared`, which is overwritten: calls store() with 4 columns.
template <class Tile, Order OrderA, class Shared, class Store>
requires Tile::kTensor __device__ __forceinline__ void store_tile(Shared& shared,
                                                                  const Accumulators<Tile>& acc,
                                                                  const Store& store) {
  static_assert(sizeof(Shared) >= Tile::kThreads / 32 * sizeof(StagedRows));
  const LaneInTile lane = lane_in_tile<Tile>();
  __syncthreads();  // all warps have read their last fragments
  StagedRows& staged = reinterpret_cast<StagedRows*>(&shared)[threadIdx.x / 32];
  RONDO_UNROLL
  for (int i = 0; i < Tile::kFragmentsM; ++i) RONDO_UNROLL
  for (int j = 0; j < Tile::kFragmentsN; j += 4)
    store_staged(staged, *reinterpret_cast<const float(*)[4][4]>(&acc.d[i][j]),
                 [&](int row, int column, const Vec<4>& values) {
                   store(lane.m + 16 * i + row, lane.n + 8 * j + column, values);
                 });
}

// The same where store() returns the values as it stored them. Calls end(row, column, moments) with the
// moments of a column of the kMomentRows rows from `row` on, of those for which included(row) is true; a lane
// for each column.
template <class Tile, class Shared, class Store, class Included, class End>
requires Tile::kTensor __device__ __forceinline__ void store_tile_and_moments(Shared& shared,
                                                                              const Accumulators<Tile>& acc,
                                                                              const Store& store,
                                                                              const Included& included,
                                                                              const End& end) {
  static_assert(Tile::kWarpM % kMomentRows == 0);
  const LaneInTile lane = lane_in_tile<Tile>();
  __syncthreads();  // all warps have read their last fragments
  StagedRows& staged = reinterpret_cast<StagedRows*>(&shared)[threadIdx.x / 32];
  RONDO_UNROLL
  for (int i = 0; i < Tile::kFragmentsM; i += kMomentRows / 16) RONDO_UNROLL
  for (int j = 0; j < Tile::kFragmentsN; j += 4) {
    ColumnMoments<typename Tile::Element, 1> moments;
    const int first_column = lane.n + 8 * j;
    RONDO_UNROLL
    for (int h = 0; h < kMomentRows / 16; ++h) {
      const int first_row = lane.m + 16 * (i + h);
      store_staged(
          staged, *reinterpret_cast<const float(*)[4][4]>(&acc.d[i + h][j]),
          [&](int row, int column, const Vec<4>& values) {
            return store(first_row + row, first_column + column, values);
          },
          [&](int row, float value) {
            if (included(first_row + row)) moments.add(value);
          });
    }
    end(lane.m + 16 * i, first_column + static_cast<int>(threadIdx.x) % 32, moments);
  }
}

}  // namespace rondo
