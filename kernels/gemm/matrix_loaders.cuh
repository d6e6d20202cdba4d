// Loaders of tile_mainloop() for operands that lie in memory as matrices.
#pragma once

#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/ptx/cp_async.cuh>
#include <rondo/kernels/gemm/tile.cuh>

#include <type_traits>

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

// An operand that runs along k: `outer` rows of k values. When the slab has rows across k, the values are
// transposed on their way in, one by one.
template <class Slab, int Outer, int K, int Threads>
class AlongKLoader {
 public:
  // The operand's block begins at `from`, has `outer` rows of `k` values left and a distance of `stride`.
  __device__ __forceinline__ AlongKLoader(const float* from, int64_t stride, int64_t outer, int64_t k,
                                          int width)
      : from_(from),
        stride_(stride),
        outer_(static_cast<int>(outer < Outer ? outer : Outer)),
        k_left_(k),
        width_(width) {}

  __device__ __forceinline__ void copy(float* slab) {
    if constexpr (Slab::kContiguousAlongK)
      with_width(width_, [&]<int V>() { copy_chunks<V>(slab); });
    else
      copy_chunks<1>(slab);
    from_ += K;
    k_left_ -= K;
  }

 private:
  template <int V>
  __device__ __forceinline__ void copy_chunks(float* slab) const {
    constexpr int kPerRow = K / V,
                  kRows = Threads / kPerRow;  // chunks of a row; rows that are copied at once
    const int k = threadIdx.x % kPerRow * V, first = threadIdx.x / kPerRow;
    if (first >= kRows) return;
    const bool inside = k < k_left_;
    const float* from = from_ + first * stride_ + k;
    RONDO_UNROLL_BY(4)
    for (int row = first; row < Outer; row += kRows, from += kRows * stride_)
      ptx::cp_async<4 * V>(slab + Slab::at(k, row), from, inside && row < outer_);
  }

  const float* from_;
  int64_t stride_;
  int outer_;
  int64_t k_left_;
  int width_;
};

// An operand that runs across k: rows of `outer` values, one row per step of k.
template <class Slab, int Outer, int K, int Threads>
class AcrossKLoader {
 public:
  __device__ __forceinline__ AcrossKLoader(const float* from, int64_t stride, int64_t outer, int64_t k,
                                           int width)
      : from_(from),
        stride_(stride),
        outer_(static_cast<int>(outer < Outer ? outer : Outer)),
        k_left_(k),
        width_(width) {}

  __device__ __forceinline__ void copy(float* slab) {
    with_width(width_, [&]<int V>() { copy_chunks<V>(slab); });
    from_ += K * stride_;
    k_left_ -= K;
  }

 private:
  template <int V>
  __device__ __forceinline__ void copy_chunks(float* slab) const {
    constexpr int kPerRow = Threads / K;  // threads that share a row
    const int k = threadIdx.x / kPerRow;
    if (k >= K) return;
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

template <Order order, class Slab, int Outer, class Tile>
using MatrixLoader =
    std::conditional_t<order == Order::along_k, AlongKLoader<Slab, Outer, Tile::kK, Tile::kThreads>,
                       AcrossKLoader<Slab, Outer, Tile::kK, Tile::kThreads>>;

}  // namespace rondo
