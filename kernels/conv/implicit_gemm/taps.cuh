// Which taps (r, s) of the filter a tile has to visit, and how a thread walks through them.
//
// The inner dimension of an implicit GEMM runs over taps and channels: k = (tap r, tap s, channel), channel
// fastest. Where a tile's rows share one position, so do they share the taps that hit the image; the others are skipped
// instead of multiplied by zero.
//
// In a data gradient with a stride a pixel of x meets only every stride-th tap, and which ones is decided by its *phase*,
// (h + pad) mod stride. Pixels of one phase are a convolution with stride 1 and those taps; a block works on one phase.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace rondo {

// One axis of the pixels that are rows of the GEMM, and of the taps through which they see the source.
struct Axis {
  int rows;  // how many; row i is the pixel to_first + i * to_step of the result
  int to_first, to_step;
  int from_first, from_step;  // its tap 0 reads the pixel from_first + i * from_step of the source,
  int direction;              // tap t the pixel direction * t further, 1 or -1, if it is in [0, size)
  int size;
  int taps;  // how many; tap t is number tap_first + t * tap_step of the filter
  int tap_first, tap_step;
};

// y[p] sums x[p * stride - pad + t].
__host__ __device__ inline Axis forward_axis(int x, int y, int filter, int stride, int pad) {
  return {.rows = y,
          .to_first = 0,
          .to_step = 1,
          .from_first = -pad,
          .from_step = stride,
          .direction = 1,
          .size = x,
          .taps = filter,
          .tap_first = 0,
          .tap_step = 1};
}

// dx[h] sums dy[(h + pad - tap) / stride] over the taps for which that is a whole number: those of the same phase. Of the
// pixels first, first + stride, ...; phases_of() is how many `first` there are.
__host__ __device__ inline Axis backward_axis(int dx, int dy, int filter, int stride, int pad, int first) {
  const int phase = static_cast<int>((int64_t{first} + pad) % stride);
  return {.rows = (dx - 1 - first) / stride + 1,
          .to_first = first,
          .to_step = stride,
          .from_first = (first + pad - phase) / stride,
          .from_step = 1,
          .direction = -1,
          .size = dy,
          .taps = phase < filter ? (filter - 1 - phase) / stride + 1 : 0,
          .tap_first = phase,
          .tap_step = stride};
}

__host__ __device__ inline int phases_of(int dx, int stride) { return dx < stride ? dx : stride; }

// begin, begin + 1, ...: `count` taps along one axis.
struct TapRange {
  int begin = 0;
  int count = 0;
};

// The taps that some row in [first, last] needs.
__host__ __device__ inline TapRange taps_between(const Axis& axis, int first, int last) {
  const int low = axis.from_first + first * axis.from_step, high = axis.from_first + last * axis.from_step;
  int begin = axis.direction > 0 ? -high : low - (axis.size - 1);
  int end = (axis.direction > 0 ? axis.size - 1 - low : high) + 1;
  if (begin < 0) begin = 0;
  if (end > axis.taps) end = axis.taps;
  return {begin, end > begin ? end - begin : 0};
}

// A place in the inner dimension, or the distance between two of them.
struct TapPosition {
  int channel = 0;
  int s = 0;
  int r = 0;
};

class TapWalk {
 public:
  __device__ __forceinline__ TapWalk(const TapRange& r, const TapRange& s, int channels)
      : r_(r), s_(s), channels_(channels) {}

  // How many k there are.
  __device__ __forceinline__ int length() const { return r_.count * s_.count * channels_; }

  __device__ __forceinline__ TapPosition at(int k) const {
    const int channels = channels_ > 0 ? channels_ : 1, columns = s_.count > 0 ? s_.count : 1;
    return {k % channels, k / channels % columns, k / channels / columns};
  }
  __device__ __forceinline__ void advance(TapPosition& position, const TapPosition& distance) const {
    position.channel += distance.channel;
    position.s += distance.s;
    position.r += distance.r;
    if (position.channel >= channels_) position.channel -= channels_, ++position.s;
    if (position.s >= s_.count) position.s -= s_.count, ++position.r;
  }
  __device__ __forceinline__ bool inside(const TapPosition& position) const { return position.r < r_.count; }
  __device__ __forceinline__ int r(const TapPosition& position) const { return r_.begin + position.r; }
  __device__ __forceinline__ int s(const TapPosition& position) const { return s_.begin + position.s; }

 private:
  TapRange r_, s_;
  int channels_;
};

}  // namespace rondo
