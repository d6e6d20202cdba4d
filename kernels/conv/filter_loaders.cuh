// Operand B of an implicit GEMM: the filter bank, read in the order of the tile's taps.
#pragma once

#include <rondo/kernels/conv/taps.cuh>
#include <rondo/kernels/core/ptx/cp_async.cuh>
#include <rondo/kernels/gemm/matrix_loaders.cuh>

namespace rondo {

struct FilterSource {
  const float* data;
  int k, s, c;  // out channels, width, in channels
  int patch;    // r * s * c
  int width;    // floats that one copy may take
};

// Forward: column = out channel, k = (r, s, c). The bank runs along k, so values are transposed one by one.
template <class Slab, class Tile>
class ForwardFilterLoader {
 public:
  __device__ __forceinline__ ForwardFilterLoader(const FilterSource& source, const TapWalk& walk,
                                                 int first_column)
      : source_(source),
        walk_(walk),
        first_column_(first_column),
        position_(walk.at(threadIdx.x % Tile::kK)),
        step_(walk.at(Tile::kK)) {}

  __device__ __forceinline__ void copy(float* slab) {
    constexpr int kColumns = Tile::kThreads / Tile::kK;
    const int k = threadIdx.x % Tile::kK, first = threadIdx.x / Tile::kK;
    if (first < kColumns) {
      const int columns = source_.k - first_column_;
      const bool inside = walk_.inside(position_);
      const float* from = source_.data + static_cast<int64_t>(first_column_ + first) * source_.patch +
                          (walk_.r(position_) * source_.s + walk_.s(position_)) * source_.c +
                          position_.channel;
      RONDO_UNROLL_BY(4)
      for (int column = first; column < Tile::kN; column += kColumns, from += kColumns * source_.patch)
        ptx::cp_async<4>(slab + Slab::at(k, column), from, inside && column < columns);
    }
    walk_.advance(position_, step_);
  }

 private:
  const FilterSource& source_;
  const TapWalk& walk_;
  int first_column_;
  TapPosition position_, step_;
};

// Backward: column = in channel, k = (r, s, out channel).
template <class Slab, class Tile>
class BackwardFilterLoader {
 public:
  __device__ __forceinline__ BackwardFilterLoader(const FilterSource& source, const TapWalk& walk,
                                                  int first_column)
      : source_(source),
        walk_(walk),
        first_column_(first_column),
        position_(walk.at(threadIdx.x / kPerRow)),
        step_(walk.at(Tile::kK)) {}

  __device__ __forceinline__ void copy(float* slab) {
    with_width(source_.width, [&]<int V>() { copy_chunks<V>(slab); });
    walk_.advance(position_, step_);
  }

 private:
  static constexpr int kPerRow = Tile::kThreads / Tile::kK;  // threads that share a row of the slab

  template <int V>
  __device__ __forceinline__ void copy_chunks(float* slab) const {
    const int k = threadIdx.x / kPerRow;
    if (k >= Tile::kK) return;
    const int columns = source_.c - first_column_;
    const bool inside = walk_.inside(position_);
    const float* from = source_.data + static_cast<int64_t>(position_.channel) * source_.patch +
                        (walk_.r(position_) * source_.s + walk_.s(position_)) * source_.c + first_column_;
    RONDO_UNROLL_BY(4)
    for (int column = threadIdx.x % kPerRow * V; column < Tile::kN; column += kPerRow * V)
      ptx::cp_async<4 * V>(slab + Slab::at(k, column), from + column, inside && column < columns);
  }

  const FilterSource& source_;
  const TapWalk& walk_;
  int first_column_;
  TapPosition position_, step_;
};

}  // namespace rondo
