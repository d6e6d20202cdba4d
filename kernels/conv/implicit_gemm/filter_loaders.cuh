// Operand B of an implicit GEMM: the filter bank, read in the order of the tile's taps.
#pragma once

#include <rondo/kernels/conv/implicit_gemm/taps.cuh>
#include <rondo/kernels/core/ptx/cp_async.cuh>
#include <rondo/kernels/gemm/fma/matrix_loaders.cuh>

namespace rondo {

template <class T>
struct FilterSource {
  const T* data;
  int k, s, c;  // out channels, width, in channels
  int patch;    // r * s * c
  int width;    // elements per copy
  Axis h, w;    // the taps that are visited

  // The offset of tap (r, s) of the walk.
  __device__ __forceinline__ int offset(int r, int s_) const {
    return ((h.tap_first + r * h.tap_step) * s + w.tap_first + s_ * w.tap_step) * c;
  }
};

// Forward: column = out channel, k = (r, s, c). The filter bank is K-major. A K-major k-tile (of a tensor
// tile) is copied as it is. For an MN-major k-tile values are transposed during the copy: one by one, or in
// square blocks if threads have vector registers.
template <class KTile, class Tile>
class ForwardFilterLoader {
 public:
  using Element = typename Tile::Element;

  __device__ __forceinline__ ForwardFilterLoader(const FilterSource<Element>& source, const TapWalk& walk,
                                                 int first_column)
      : source_(source), walk_(walk), first_column_(first_column), step_(walk.distance(Tile::kK)) {
    if constexpr (KTile::kKMajor) {
      const int width = copied_width<Tile>(source.width);
      position_ = walk.at(threadIdx.x % (Tile::kK / width) * width);
    } else if constexpr (Transposing<Tile>::kSupported) {
      position_ = walk.at(Transposing<Tile>().k);
    } else {
      position_ = walk.at(threadIdx.x % Tile::kK);
    }
  }

  __device__ RONDO_INLINE_ON_GPU void copy(typename Tile::KTileElement* k_tile) {
    if constexpr (KTile::kKMajor) {
      with_width<Tile, Tile::kWidestCopy>(source_.width, [&]<int V>() { copy_along<V>(k_tile); });
    } else if constexpr (Tile::kVectors) {
      if (source_.c % 16 == 0)
        copy_blocks<16>(k_tile);
      else if (source_.c % 4 == 0)
        copy_blocks<4>(k_tile);
      else
        for (int k = 0; k < Tile::kK; ++k) copy_column_values(k_tile, k);
    } else if constexpr (Transposing<Tile>::kSupported) {
      copy_transposing(k_tile);
    } else {
      constexpr int kColumns = Tile::kThreads / Tile::kK;
      const int first = threadIdx.x / Tile::kK;
      if (first < kColumns) copy_values(k_tile, position_, threadIdx.x % Tile::kK, first, kColumns);
    }
    walk_.advance(position_, step_);
    left_ -= Tile::kK;
  }
  __device__ __forceinline__ int outer() const { return source_.k - first_column_; }

 private:
  template <int V>
  __device__ __forceinline__ void copy_along(Element* k_tile) const {
    constexpr int kPerColumn = Tile::kK / V, kColumns = Tile::kThreads / kPerColumn;
    const int k = threadIdx.x % kPerColumn * V, first = threadIdx.x / kPerColumn;
    const int columns = source_.k - first_column_;
    const bool inside = k < left_;
    const Element* from = at(position_, first);
    RONDO_UNROLL_BY(1)
    for (int column = first; column < Tile::kN; column += kColumns, from += kColumns * source_.patch)
      ptx::cp_async<sizeof(Element) * V>(k_tile + KTile::at(k, column), from, inside && column < columns);
  }
  // Copies the columns first, first + step, ... at k of the k-tile.
  __device__ __forceinline__ void copy_values(Element* k_tile, const TapPosition& position, int k, int first,
                                              int step) const {
    const int columns = source_.k - first_column_;
    const bool inside = k < left_;
    const Element* from = at(position, first);
    RONDO_UNROLL_BY(4)
    for (int column = first; column < Tile::kN; column += step, from += step * source_.patch)
      ptx::cp_async<4>(k_tile + KTile::at(k, column), from, inside && column < columns);
  }
  __device__ __forceinline__ void copy_transposing(Element* k_tile) const {
    const Transposing<Tile> thread;
    const int columns = source_.k - first_column_;
    const bool inside = thread.k < left_;
    const Element* from = at(position_, 0);
    RONDO_UNROLL_BY(1)
    for (int first = 0; first < Tile::kN; first += 8) RONDO_UNROLL
    for (int step = 0; step < thread.kSteps; ++step) {
      const int column = first + thread.column(step);
      ptx::cp_async<4>(k_tile + KTile::at(thread.k, column),
                       from + static_cast<int64_t>(column) * source_.patch, inside && column < columns);
    }
  }
  // Copies the values of all columns at k of the k-tile.
  __device__ __forceinline__ void copy_column_values(float* k_tile, int k) const {
    const int columns = k < left_ ? min(outer(), Tile::kN) : 0;
    const Element* from = at(walk_.at(walk_.length() - left_ + k), 0);
    float* const to = k_tile + KTile::at(k, 0);
    for (int column = 0; column < columns; ++column, from += source_.patch)
      to[column] = factor_value<Tile::kId.arithmetic>(*from);
    for (int column = columns; column < Tile::kN; ++column) to[column] = 0;
  }
  // Copies V values along k of all columns at a time, in square blocks.
  template <int V>
  __device__ __forceinline__ void copy_blocks(float* k_tile) const {
    constexpr int kSide = V < kTileRegisters.lanes ? V : kTileRegisters.lanes;
    for (int k = 0; k < Tile::kK; k += V) {
      const int columns = k < left_ ? outer() : 0;
      const Element* from = at(walk_.at(walk_.length() - left_ + k), 0);
      for (int column = 0; column < Tile::kN; column += kSide, from += kSide * source_.patch)
        for (int j = 0; j < V; j += kSide)
          copy_transposed_factors<Tile::kId.arithmetic, KTile, kSide>(k_tile, k + j, column, from + j,
                                                                      source_.patch, columns - column, kSide);
    }
  }
  __device__ __forceinline__ const Element* at(const TapPosition& position, int column) const {
    return source_.data + static_cast<int64_t>(first_column_ + column) * source_.patch +
           source_.offset(walk_.r(position), walk_.s(position)) + position.channel;
  }

  const FilterSource<Element>& source_;
  const TapWalk& walk_;
  int first_column_;
  int left_ = walk_.length();  // of k, for the next k-tile and those after it
  TapPosition position_, step_;
};

// Backward: column = in channel, k = (r, s, out channel).
template <class KTile, class Tile>
class BackwardFilterLoader {
 public:
  using Element = typename Tile::Element;

  __device__ __forceinline__ BackwardFilterLoader(const FilterSource<Element>& source, const TapWalk& walk,
                                                  int first_column)
      : source_(source),
        walk_(walk),
        first_column_(first_column),
        position_(walk.at(first_row())),
        step_(walk.distance(Tile::kK)) {}

  __device__ RONDO_INLINE_ON_GPU void copy(typename Tile::KTileElement* k_tile) {
    if constexpr (Tile::kVectors) {
      for (int k = 0; k < Tile::kK; ++k) {
        copy_factors_then_zeros<Tile::kId.arithmetic>(k_tile + KTile::at(k, 0), row_at_position(),
                                                      k < left_ ? min(outer(), Tile::kN) : 0, Tile::kN);
        walk_.advance(position_, {.channel = 1});
      }
    } else {
      with_width<Tile, Tile::kWidestCopy>(source_.width, [&]<int V>() { copy_row<V>(k_tile, first_row()); });
      walk_.advance(position_, step_);
    }
    left_ -= Tile::kK;
  }
  __device__ __forceinline__ int outer() const { return source_.c - first_column_; }

 private:
  // Threads that share a row of the k-tile. The one of a vector tile has all rows.
  static constexpr int kPerRow = Tile::kVectors ? 1 : Tile::kThreads / Tile::kK;

  // The hardware stores 16 bytes of 8 lanes at a time. The rows of the k-tile begin 4 banks apart, and 2 or 4
  // lanes share a row. Of 8 rows, the even ones are copied first: those of 8 lanes then begin 8 banks apart.
  // Those of tensor tiles do so anyway.
  static __device__ __forceinline__ int first_row() {
    const int row = static_cast<int>(threadIdx.x) / kPerRow;
    return Tile::kVectors || Tile::kTensor ? row : row / 8 * 8 + row % 4 * 2 + row / 4 % 2;
  }

  __device__ __forceinline__ const Element* row_at_position() const {
    return source_.data + static_cast<int64_t>(position_.channel) * source_.patch +
           source_.offset(walk_.r(position_), walk_.s(position_)) + first_column_;
  }
  template <int V>
  __device__ __forceinline__ void copy_row(Element* k_tile, int k) const {
    if (k >= Tile::kK) return;
    const int columns = source_.c - first_column_;
    const bool inside = k < left_;
    const Element* from = row_at_position();
    // By 4, the tf32x3 tile of 128 x 128 spills registers on 12.0.
    RONDO_UNROLL_BY(2)
    for (int step = 0; step * kPerRow * V < Tile::kN; ++step) {
      const int column = KTile::template copy_offset<V, kPerRow>(threadIdx.x % kPerRow, k, step);
      if (column < Tile::kN)
        ptx::cp_async<sizeof(Element) * V>(k_tile + KTile::at(k, column), from + column,
                                           inside && column < columns);
    }
  }

  const FilterSource<Element>& source_;
  const TapWalk& walk_;
  int first_column_;
  int left_ = walk_.length();  // of k, for the next k-tile and those after it
  TapPosition position_, step_;
};

}  // namespace rondo
