// Which taps (r, s) of the filter a tile has to visit, and how a thread walks through them.
//
// The inner dimension of an implicit GEMM runs over taps and channels: k = (tap r, tap s, channel), channel
// fastest. Where a tile's rows share one output position, so do they share the taps that hit the image; the
// others are skipped instead of multiplied by zero. In a data gradient with a stride those are most of them.
#pragma once

#include <cuda_runtime.h>

namespace rondo {

// begin, begin + step, ...: `count` taps along one axis.
struct TapRange {
  int begin = 0;
  int step = 1;
  int count = 0;
};

// How a row of the tile finds its pixels along one axis: tap t reads the pixel (row + direction * t) /
// divisor, if that is a whole number in [0, size). Forward: row = p * stride - pad, direction = 1, divisor
// = 1. Backward: row = h + pad, direction = -1, divisor = stride.
struct TapAxis {
  int size;
  int filter;
  int direction;
  int divisor;
};

// The taps that some row in [first, last] needs.
__host__ __device__ inline TapRange taps_between(const TapAxis& axis, int first, int last) {
  const int reach = (axis.size - 1) * axis.divisor;  // row + direction * t must be in [0, reach]
  int begin = axis.direction > 0 ? -last : first - reach;
  int end = (axis.direction > 0 ? reach - first : last) + 1;
  if (begin < 0) begin = 0;
  if (end > axis.filter) end = axis.filter;
  TapRange range;
  if (first == last && axis.divisor > 1) {  // only every divisor-th tap divides
    range.step = axis.divisor;
    const int from_first = (first - begin) % axis.divisor;
    begin += from_first < 0 ? from_first + axis.divisor : from_first;
  }
  range.begin = begin;
  range.count = end > begin ? (end - begin + range.step - 1) / range.step : 0;
  return range;
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
  __device__ __forceinline__ int r(const TapPosition& position) const {
    return r_.begin + position.r * r_.step;
  }
  __device__ __forceinline__ int s(const TapPosition& position) const {
    return s_.begin + position.s * s_.step;
  }

 private:
  TapRange r_, s_;
  int channels_;
};

}  // namespace rondo
