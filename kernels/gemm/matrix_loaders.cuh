// Loaders of tile_mainloop() for operands that lie in memory as matrices.
#pragma once

#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/ptx/cp_async.cuh>
#include <rondo/kernels/gemm/tile.cuh>

namespace rondo {

// Calls copy.template operator()<V>() for the copy width V = 4, 2 or 1 floats that the operand's alignment
// allows; the branch is the same for all threads.
template <class Copy>
__device__ __forceinline__ void with_width(int width, Copy&& copy) {
  if (width == 4)
    copy.template operator()<4>();
  else if (width == 2)
    copy.template operator()<2>();
  else
    copy.template operator()<1>();
}

// An operand whose rows run along k, or across k: one row per step of k.
template <Order order, class Slab, int Outer, class Tile>
class MatrixLoader {
 public:
  // The operand's block begins at `from`, has `outer` values left across k and `k` along it; its rows lie `stride`
  // apart.
  __device__ __forceinline__ MatrixLoader(const float* from, int64_t stride, int64_t outer, int64_t k,
                                          int width)
      : from_(from),
        stride_(stride),
        outer_(static_cast<int>(outer < Outer ? outer : Outer)),
        k_left_(k),
        width_(width) {}

  __device__ __forceinline__ void copy(float* slab) {
    // A slab that is not contiguous along k has the values transposed on their way in, one by one.
    if constexpr (order == Order::across_k)
      with_width(width_, [&]<int V>() { copy_across<V>(slab); });
    else if constexpr (Slab::kContiguousAlongK)
      with_width(width_, [&]<int V>() { copy_along<V>(slab); });
    else
      copy_along<1>(slab);
    from_ += order == Order::along_k ? kK : kK * stride_;
    k_left_ -= kK;
  }

 private:
  static constexpr int kK = Tile::kK, kThreads = Tile::kThreads;

  template <int V>
  __device__ __forceinline__ void copy_along(float* slab) const {
    constexpr int kPerRow = kK / V,
                  kRows = kThreads / kPerRow;  // chunks of a row; rows that are copied at once
    const int k = threadIdx.x % kPerRow * V, first = threadIdx.x / kPerRow;
    if (first >= kRows) return;
    const bool inside = k < k_left_;
    const float* from = from_ + first * stride_ + k;
    RONDO_UNROLL_BY(4)
    for (int row = first; row < Outer; row += kRows, from += kRows * stride_)
      ptx::cp_async<4 * V>(slab + Slab::at(k, row), from, inside && row < outer_);
  }

  template <int V>
  __device__ __forceinline__ void copy_across(float* slab) const {
    constexpr int kPerRow = kThreads / kK;  // threads that share a row
    const int k = threadIdx.x / kPerRow;
    if (k >= kK) return;
    const bool inside = k < k_left_;
    const float* from = from_ + k * stride_;
    RONDO_UNROLL_BY(4)
    for (int outer = threadIdx.x % kPerRow * V; outer < Outer; outer += kPerRow * V)
      ptx::cp_async<4 * V>(slab + Slab::at(k, outer), from + outer, inside && outer < outer_);
  }

  const float* from_;
  int64_t stride_;
  int outer_;
  int64_t k_left_;
  int width_;
};

}  // namespace rondo
