// The shape of a block's work in the Winograd convolutions, and their common main loop.
//
// A block computes 16 matrix products, one for each frequency. Each product has kRows x kColumns results, and
// kInner steps of the inner dimension are processed at a time. kThreadsM x kThreadsN threads process one
// frequency: a warp on a GPU, a single fiber on the CPU executor. Each thread has kPartsM x kPartsN register
// tiles of kPerThreadM rows of kPerThreadN adjacent columns.
#pragma once

#include <rondo/kernels/conv/winograd/winograd_math.cuh>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/gemm/fma/tiles.cuh>

#ifdef __SIMT__
#include <simt/unwritten.h>
#endif

namespace rondo::winograd {

template <int ThreadsM, int ThreadsN, int PerThreadM, int PerThreadN, int Rows, int Columns, int Inner,
          int Stages, int Slices, bool Vectors>
struct WinogradTile {
  using Threads = ThreadsOf<Vectors>;
  static constexpr bool kVectors = Vectors;
  static constexpr int kThreadsM = ThreadsM, kThreadsN = ThreadsN;
  static constexpr int kThreadsPerFrequency = ThreadsM * ThreadsN,
                       kThreads = kFrequencies * kThreadsPerFrequency;
  static constexpr int kPerThreadM = PerThreadM, kPerThreadN = PerThreadN;
  static constexpr int kRows = Rows, kColumns = Columns, kInner = Inner, kStages = Stages;
  static constexpr int kSlices = Slices;  // slices of the columns; products are stored slice by slice
  static constexpr int kPartsM = Rows / (ThreadsM * PerThreadM), kPartsN = Columns / (ThreadsN * PerThreadN);
  static_assert(kPartsM * ThreadsM * PerThreadM == Rows && kPartsN * ThreadsN * PerThreadN == Columns);
};

// 8 x 8 sums of one frequency use 64 of the 128 registers that each of 512 threads may have.
template <int Inner, int Slices, int Stages = 2>
using WinogradGpuTile = WinogradTile<4, 8, 8, 8, 32, 64, Inner, Stages, Slices, false>;
// The k-tiles of all frequencies fit a core's L2 cache; those of one frequency and its register tiles fit L1.
template <int Rows, int Inner, int PerThreadM, int Slices>
using WinogradVectorTile =
    WinogradTile<1, 1, PerThreadM, 2 * kTileRegisters.lanes, Rows, 64, Inner, 1, Slices, true>;

// Steps of the inner dimension whose loads are issued before their products, and whether the lanes of a warp
// have the order that combines their loads (Sums::thread()). Four steps, or the address arithmetic of that
// order, spill registers on 10.0 and 12.0.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
inline constexpr int kUnrolledSteps = 2;
inline constexpr bool kCombinesLoads = false;
#else
inline constexpr int kUnrolledSteps = 4;
inline constexpr bool kCombinesLoads = true;
#endif

// Threads multiply whole register tiles, also past a block's last row or column, where `k_tile` has not been
// written. They do not store these results.
template <class KTile>
__device__ __forceinline__ void multiplies_unwritten([[maybe_unused]] const KTile& k_tile) {
#ifdef __SIMT__
  if (threadIdx.x == 0) simt::allow_unwritten(&k_tile, sizeof(k_tile));
#endif
}

// The accumulated sums of the calling thread.
template <class Tile>
struct Sums {
  using Row = Vec<Tile::kPerThreadN>;
  Row row[Tile::kPartsM][Tile::kPartsN][Tile::kPerThreadM];

  static __device__ __forceinline__ int frequency() { return threadIdx.x / Tile::kThreadsPerFrequency; }
  // The place of the thread in the grid of one frequency. With kCombinesLoads, in the order for which the
  // hardware combines the warp's loads: see ThreadInTile (gemm/fma/tile.cuh).
  static __device__ __forceinline__ ThreadInTile thread() {
    const int thread = static_cast<int>(threadIdx.x) % Tile::kThreadsPerFrequency;
    if constexpr (!Tile::kVectors && kCombinesLoads) {
      static_assert(Tile::kThreadsM == 4 && Tile::kThreadsN == 8, "a warp");
      return {thread / 16 * 2 + thread % 2, thread / 2 % 8};
    }
    return {thread / Tile::kThreadsN, thread % Tile::kThreadsN};
  }
  static __device__ __forceinline__ int first_row(int part) {
    return (part * Tile::kThreadsM + thread().m) * Tile::kPerThreadM;
  }
  // The columns of a part: on a CPU kPerThreadN adjacent ones; on a GPU 4 adjacent ones, and 4 more a half of
  // the part further, so that 8 threads together load 128 contiguous bytes.
  static constexpr int kGroup = Tile::kVectors ? Tile::kPerThreadN : 4;
  static constexpr int kGroups = Tile::kPerThreadN / kGroup;
  static constexpr int kGroupStep = Tile::kThreadsN * kGroup;
  static __device__ __forceinline__ int first_column(int part) {
    return part * Tile::kThreadsN * Tile::kPerThreadN + thread().n * kGroup;
  }
  static __device__ __forceinline__ Row load_columns(const float* from) {
    if constexpr (kGroups == 1) {
      return Row::load(from);
    } else {
      Row row;
      RONDO_UNROLL
      for (int g = 0; g < kGroups; ++g) row.set_part(g * kGroup, Vec<kGroup>::load(from + g * kGroupStep));
      return row;
    }
  }

  __device__ __forceinline__ void clear() {
    RONDO_UNROLL
    for (int m = 0; m < Tile::kPartsM; ++m) RONDO_UNROLL
    for (int n = 0; n < Tile::kPartsN; ++n) RONDO_UNROLL
    for (int i = 0; i < Tile::kPerThreadM; ++i) row[m][n][i] = Row::zero();
  }

  // sums += A B for rows below `rows`, where A(i, k) = a[i * kRowStep + k * kStep] and
  // B(k, j) = b[k * b_stride + j]. `inner` must be a multiple of 4.
  template <int kRowStep, int kStep>
  __device__ __forceinline__ void multiply(const float* a, const float* b, int b_stride, int inner,
                                           int rows) {
    RONDO_UNROLL
    for (int n = 0; n < Tile::kPartsN; ++n) {
      const float* columns = b + first_column(n);
      RONDO_UNROLL_BY(1)
      for (int m = 0; m < Tile::kPartsM; ++m) {
        if (first_row(m) >= rows) break;
        multiply_part<kRowStep, kStep>(row[m][n], a + first_row(m) * kRowStep, columns, b_stride, inner);
      }
    }
  }

  // Stores the columns from `first` to `first` + kWidth - 1: column c of the rows from r to r + kPerThreadM -
  // 1 to address(r, c - first), at a distance of `stride` floats.
  template <int kWidth, class Address>
  __device__ __forceinline__ void store(int stride, int first, Address address) const {
    RONDO_UNROLL
    for (int m = 0; m < Tile::kPartsM; ++m) RONDO_UNROLL
    for (int n = 0; n < Tile::kPartsN; ++n) RONDO_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      const int column = first_column(n) + g * kGroupStep - first;
      if (column < 0 || column >= kWidth) continue;
      float* const to = address(first_row(m), column);
      RONDO_UNROLL
      for (int i = 0; i < Tile::kPerThreadM; ++i)
        row[m][n][i].template part<kGroup>(g * kGroup).store(to + i * stride);
    }
  }

 private:
  template <int kRowStep, int kStep>
  static __device__ __forceinline__ void multiply_part(Row (&sums)[Tile::kPerThreadM], const float* a,
                                                       const float* b, int b_stride, int inner) {
    Row local[Tile::kPerThreadM];
    RONDO_UNROLL
    for (int i = 0; i < Tile::kPerThreadM; ++i) local[i] = sums[i];
    RONDO_UNROLL_BY(1)
    for (int first = 0; first < inner; first += 4) {
      RONDO_UNROLL_BY(kUnrolledSteps)
      for (int k = first; k < first + 4; ++k) {
        const Row columns = load_columns(b + k * b_stride);
        if constexpr (kRowStep == 1 && !Tile::kVectors) {
          RONDO_UNROLL
          for (int i = 0; i < Tile::kPerThreadM; i += 4) {
            const Broadcast<4> rows(a + k * kStep + i);
            RONDO_UNROLL
            for (int u = 0; u < 4; ++u) local[i + u].add_product(rows[u], columns);
          }
        } else {
          RONDO_UNROLL
          for (int i = 0; i < Tile::kPerThreadM; ++i)
            local[i].add_product(a[i * kRowStep + k * kStep], columns);
        }
      }
    }
    RONDO_UNROLL
    for (int i = 0; i < Tile::kPerThreadM; ++i) sums[i] = local[i];
  }
};

// Processes `k_tiles` k-tiles in order. transform(k_tile, stage) writes k-tile number `k_tile` to a stage;
// multiply(k_tile, stage) adds its products. With two stages, threads that wait for memory overlap with
// threads that multiply. After the return the k-tiles are no longer in use.
template <class Tile, class Transform, class Multiply>
__device__ __forceinline__ void mainloop(int k_tiles, Transform transform, Multiply multiply) {
  if constexpr (Tile::kStages == 1) {
    RONDO_UNROLL_BY(1)
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
      transform(k_tile, 0);
      __syncthreads();
      multiply(k_tile, 0);
      __syncthreads();
    }
  } else {
    if (k_tiles > 0) transform(0, 0);
    RONDO_UNROLL_BY(1)
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
      __syncthreads();
      if (k_tile + 1 < k_tiles) transform(k_tile + 1, (k_tile + 1) % 2);
      multiply(k_tile, k_tile % 2);
    }
    __syncthreads();
  }
}

// The products of all frequencies in shared memory, one slice of the columns at a time. On a CPU, a thread
// reads the same row and column of all 16 frequencies in turn. Without a gap these would be a multiple of
// 4096 bytes apart and share one set of the L1 cache, so one cache line follows each frequency. A GPU does
// not need the gap: a warp accesses one frequency at a time.
template <class Tile>
struct Products {
  static constexpr int kColumns = Tile::kColumns / Tile::kSlices;
  static constexpr int kStride = kColumns + Tile::Threads::kGap;

  float values[kFrequencies][Tile::kRows * kStride + 16];

  // With kCombinesLoads, 8 lanes store 16 bytes each at a time: 4 to the row of one thread of the grid and 4
  // to that of the next, 8 rows further. Exchanging 16 columns of every other 8 rows puts them into different
  // banks. Rows of 16 columns, for the GPUs with the least shared memory, keep a 2-way conflict.
  static __device__ __forceinline__ int at(int row, int column) {
    if constexpr (!Tile::kVectors && kCombinesLoads && kColumns % 32 == 0) {
      static_assert(Tile::kPerThreadM == 8);
      column ^= row / 8 % 2 * 16;
    }
    return row * kStride + column;
  }

  template <int N>
  __device__ __forceinline__ Vec<N> load(int frequency, int row, int column) const {
    return Vec<N>::load(values[frequency] + at(row, column));
  }
};

// For every slice: stores its products in shared memory, then calls each(first column of the slice).
template <class Tile, class Each>
__device__ __forceinline__ void for_each_slice(const Sums<Tile>& sums, Products<Tile>& products, Each each) {
  using Slice = Products<Tile>;
  RONDO_UNROLL_BY(1)
  for (int first = 0; first < Tile::kColumns; first += Slice::kColumns) {
    if (first > 0) __syncthreads();
    float* const values = products.values[sums.frequency()];
    sums.template store<Slice::kColumns>(
        Slice::kStride, first, [&](int row, int column) { return values + Slice::at(row, column); });
    __syncthreads();
    each(first);
  }
}

// The 4 x 4 input pixels of a tile, or its 2 x 2 output pixels. `offset` is that of the tile's first pixel
// in the image tensor, in elements; it may be outside the image if that pixel does not exist. Bit 4 * i + j
// (2 * i + j) of `valid_pixels` is set if that pixel exists.
struct TilePixels {
  int64_t offset;
  unsigned valid_pixels;
};

// Those of tile number `tile` in images of `tiles_h` x `tiles_w` tiles. From tile number `tiles` on,
// no pixel exists. Pixel (0, 0) of the image is pixel (pad_h, pad_w) of tile (0, 0). size: pixels per tile
// along an axis, 4 or 2.
template <int size>
__device__ inline TilePixels tile_pixels(int64_t tile, int64_t tiles, int tiles_h, int tiles_w, int height,
                                         int width, int channels, int pad_h, int pad_w) {
  if (tile >= tiles) return {0, 0};
  const int tw = static_cast<int>(tile % tiles_w), th = static_cast<int>(tile / tiles_w % tiles_h);
  const int64_t image = tile / tiles_w / tiles_h;
  const int y = 2 * th - pad_h, x = 2 * tw - pad_w;
  unsigned valid_pixels = 0;
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j)
      if (y + i >= 0 && y + i < height && x + j >= 0 && x + j < width) valid_pixels |= 1u << (size * i + j);
  return {((image * height + y) * width + x) * channels, valid_pixels};
}

// Loads the 4 x 4 inputs of a tile and transforms them.
template <int N>
__device__ __forceinline__ void transformed_inputs(Vec<N> (&v)[4][4], const float* from,
                                                   unsigned valid_pixels, int width, int channels) {
  RONDO_UNROLL
  for (int i = 0; i < 4; ++i) RONDO_UNROLL
  for (int j = 0; j < 4; ++j)
    v[i][j] = valid_pixels >> (4 * i + j) & 1
                  ? Vec<N>::load_unaligned(from + static_cast<int64_t>(i * width + j) * channels)
                  : Vec<N>::zero();
  transform_input<N>(v);
}

}  // namespace rondo::winograd
