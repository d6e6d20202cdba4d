// Loaders of tile_mainloop() for operands that are stored as matrices.
#pragma once

#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/ptx/cp_async.cuh>
#include <rondo/kernels/gemm/fma/factors.cuh>
#include <rondo/kernels/gemm/fma/tile.cuh>

namespace rondo {

// Calls copy.template operator()<V>() with the widest copy, V elements, that the operand's alignment
// (`width`) and the tile (kMost) allow. All threads take the same branch. Tensor tiles have only the widest
// copy and single elements: each width keeps its own addresses in registers, of which these tiles have none
// to spare.
template <class Tile, int kMost, class Copy>
__device__ __forceinline__ void with_width(int width, Copy&& copy) {
  if constexpr (Tile::kTensor) {
    if (width >= kMost)
      copy.template operator()<kMost>();
    else
      copy.template operator()<1>();
  } else {
    if (width >= 4)
      copy.template operator()<4>();
    else if (width == 2)
      copy.template operator()<2>();
    else
      copy.template operator()<1>();
  }
}

// The width that with_width<Tile, Tile::kWidestCopy>() chooses.
template <class Tile>
__device__ __forceinline__ int copied_width(int width) {
  if (Tile::kTensor) return width >= Tile::kWidestCopy ? Tile::kWidestCopy : 1;
  return width < Tile::kWidestCopy ? width : Tile::kWidestCopy;
}

// The part of a thread in a copy that transposes: from memory that is contiguous along k to an MN-major
// k-tile, 4 bytes at a time. A warp copies 8 or 16 values along k, whole sectors, of 4 or 2 columns. The rows
// of the k-tile begin 4 banks apart, so 8 steps of k and 4 columns are 32 banks. With 16 steps of k, the
// second 8 copy other columns than the first.
template <class Tile>
struct Transposing {
  static constexpr bool kSupported = !Tile::kVectors && Tile::kK == 32 && Tile::kN % 8 == 0 &&
                                     (Tile::kThreads == 64 || Tile::kThreads == 128);
  static constexpr int kAlong = 1024 / Tile::kThreads;  // values along k of a warp; all warps have kK
  static constexpr int kColumns = 32 / kAlong;          // columns of a warp
  static constexpr int kSteps = 8 / kColumns;           // to copy 8 columns

  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int k = static_cast<int>(threadIdx.x) / 32 * kAlong + lane % kAlong;

  // The column of copy number `step`, in a group of 8.
  __device__ __forceinline__ int column(int step) const {
    return lane / kAlong + (step + k / 8) % kSteps * kColumns;
  }
};

// Loads an operand whose rows are K-major, or MN-major with one row per step of k.
template <Order order, class KTile, int Outer, class Tile>
class MatrixLoader {
 public:
  using Element = typename Tile::Element;

  // The operand's block begins at `from`. It has `outer` values left in the M or N dimension and `k` along k.
  // Its rows are `stride` elements apart.
  __device__ __forceinline__ MatrixLoader(const Element* from, int64_t stride, int64_t outer, int64_t k,
                                          int width)
      : from_(from),
        stride_(stride),
        outer_(static_cast<int>(outer < Outer ? outer : Outer)),
        k_left_(k),
        width_(width) {}

  __device__ RONDO_INLINE_ON_GPU void copy(typename Tile::KTileElement* k_tile) {
    // K-major memory must be transposed into an MN-major k-tile.
    if constexpr (Tile::kVectors)
      copy_by_vectors(k_tile);
    else if constexpr (order == Order::mn_major)
      with_width<Tile, (Tile::kWidestCopy < Outer ? Tile::kWidestCopy : Outer)>(
          width_, [&]<int V>() { copy_across<V>(k_tile); });
    else if constexpr (KTile::kKMajor)
      with_width<Tile, Tile::kWidestCopy>(width_, [&]<int V>() { copy_along<V>(k_tile); });
    else if constexpr (Transposing<Tile>::kSupported)
      copy_transposing(k_tile);
    else
      copy_along<1>(k_tile);
    from_ += order == Order::k_major ? kK : kK * stride_;
    k_left_ -= kK;
  }
  __device__ __forceinline__ int outer() const { return outer_; }
  // Fetches part `part` of `parts` of the next k-tile into the cache. For VectorThreads.
  __device__ __forceinline__ void prefetch(int part, int parts) const {
    constexpr int kRows = order == Order::k_major ? Outer : kK,
                  kLength = order == Order::k_major ? kK : Outer;
    if (k_left_ <= 0) return;
    const int left = k_left_ < kK ? static_cast<int>(k_left_) : kK;
    const int rows = min(kRows * (part + 1) / parts, order == Order::k_major ? outer_ : left);
    const int length = min(kLength, order == Order::k_major ? left : outer_);
    for (int row = kRows * part / parts; row < rows; ++row)
      for (int i = 0; i < length; i += 64 / sizeof(Element))
        __builtin_prefetch(from_ + row * stride_ + i, 0, 2);
  }

 private:
  static constexpr int kK = Tile::kK, kThreads = Tile::kThreads;
  // See with_width() for tensor tiles. tf32x3 has no registers for the addresses of several rows on 8.0.
  template <int V>
  static constexpr bool kUnrolled =
      !Tile::kTensor || (V == Tile::kWidestCopy && Tile::kId.arithmetic != Arithmetic::tf32x3);

  template <int V>
  __device__ __forceinline__ void copy_along(Element* k_tile) const {
    constexpr int kPerRow = kK / V;                                   // chunks per row
    constexpr int kAtOnce = kPerRow < kThreads ? kPerRow : kThreads;  // chunks of a row copied at once
    constexpr int kRows = kThreads / kAtOnce;                         // rows copied at once
    const int first = threadIdx.x / kAtOnce;
    if (first >= kRows) return;
    RONDO_UNROLL
    for (int chunk = 0; chunk < kPerRow; chunk += kAtOnce) {
      const int k = (chunk + threadIdx.x % kAtOnce) * V;
      const bool inside = k < k_left_;
      const Element* from = from_ + first * stride_ + k;
      const auto copy_row = [&](int row) {
        ptx::cp_async<sizeof(Element) * V>(k_tile + KTile::at(k, row), from, inside && row < outer_);
        from += kRows * stride_;
      };
      if constexpr (kUnrolled<V>) {
        RONDO_UNROLL_BY(4)
        for (int row = first; row < Outer; row += kRows) copy_row(row);
      } else {
        RONDO_UNROLL_BY(1)
        for (int row = first; row < Outer; row += kRows) copy_row(row);
      }
    }
  }

  __device__ __forceinline__ void copy_transposing(Element* k_tile) const {
    const Transposing<Tile> thread;
    const bool inside = thread.k < k_left_;
    RONDO_UNROLL_BY(1)
    for (int outer = 0; outer < Outer; outer += 8) RONDO_UNROLL
    for (int step = 0; step < thread.kSteps; ++step) {
      const int row = outer + thread.column(step);
      ptx::cp_async<4>(k_tile + KTile::at(thread.k, row), from_ + row * stride_ + thread.k,
                       inside && row < outer_);
    }
  }

  // A thread with vector registers copies whole rows, or transposes square blocks.
  __device__ void copy_by_vectors(float* k_tile) const {
    constexpr Arithmetic kArithmetic = Tile::kId.arithmetic;
    const int k_here = k_left_ < kK ? static_cast<int>(k_left_) : kK;
    if constexpr (order == Order::mn_major) {
      for (int k = 0; k < kK; ++k)
        copy_factor_row<kArithmetic, Outer>(k_tile + KTile::at(k, 0), from_ + k * stride_,
                                            k < k_here ? outer_ : 0);
    } else if constexpr (KTile::kKMajor) {
      for (int row = 0; row < Outer; ++row)
        copy_factor_row<kArithmetic, kK>(k_tile + KTile::at(0, row), from_ + row * stride_,
                                         row < outer_ ? k_here : 0);
    } else {
      constexpr int kLanes = kTileRegisters.lanes;
      for (int row = 0; row < Outer; row += kLanes)
        for (int k = 0; k < kK; k += kLanes)
          copy_transposed_factors<kArithmetic, KTile, kLanes>(k_tile, k, row, from_ + row * stride_ + k,
                                                              stride_, outer_ - row, k_here - k);
    }
  }

  template <int V>
  __device__ __forceinline__ void copy_across(Element* k_tile) const {
    constexpr int kAtOnce = kK < kThreads ? kK : kThreads;  // rows copied at once
    constexpr int kPerRow = kThreads / kAtOnce;             // threads per row
    const int first = threadIdx.x / kPerRow;
    if (first >= kAtOnce) return;
    RONDO_UNROLL_BY(1)
    for (int k = first; k < kK; k += kAtOnce) {
      const bool inside = k < k_left_;
      const Element* from = from_ + k * stride_;
      const auto copy_chunk = [&](int step) {
        const int outer = KTile::template copy_offset<V, kPerRow>(threadIdx.x % kPerRow, k, step);
        if (outer < Outer)
          ptx::cp_async<sizeof(Element) * V>(k_tile + KTile::at(k, outer), from + outer,
                                             inside && outer < outer_);
      };
      if constexpr (kUnrolled<V>) {
        RONDO_UNROLL_BY(4)
        for (int step = 0; step * kPerRow * V < Outer; ++step) copy_chunk(step);
      } else {
        RONDO_UNROLL_BY(1)
        for (int step = 0; step * kPerRow * V < Outer; ++step) copy_chunk(step);
      }
    }
  }

  const Element* from_;
  int64_t stride_;
  int outer_;
  int64_t k_left_;
  int width_;
};

}  // namespace rondo
