// The taps (r, s) of the filter that a tile has to visit, and how a thread iterates over them.
//
// The inner dimension of an implicit GEMM runs over taps and channels: k = (tap r, tap s, channel), channel
// fastest. If all rows of a tile have the same position, they share the taps that are inside the image. The
// other taps are skipped instead of multiplied by zero.
//
// In a strided data gradient, a pixel of x uses only every stride-th tap. Its *phase*, (h + pad) mod stride,
// determines which. The pixels of one phase form a convolution with stride 1 and those taps. Each block
// processes one phase. With a dilation these are the taps t for which t * dilation has the remainder of the
// phase: every (stride / common)-th one, where `common` is the greatest common divisor of the two.
#pragma once

#include <cuda_runtime.h>

#include <rondo/kernels/conv/conv_geometry.h>

#include <cstdint>

namespace rondo {

// One axis of the pixels that are the rows of the GEMM, and of the taps through which they read the source.
struct Axis {
  int rows;  // number of rows; row i is the pixel to_first + i * to_step of the result
  int to_first, to_step;
  int from_first, from_step;  // tap 0 of row i reads the pixel from_first + i * from_step of the source
  int tap_distance;           // tap t reads tap_distance * t further, if that is in [0, size); not 0
  int size;
  int taps;  // number of taps; tap t is number tap_first + t * tap_step of the filter
  int tap_first, tap_step;
};

// y[p] sums x[p * stride - pad + t * dilation].
__host__ __device__ inline Axis forward_axis(int x, int y, int filter, int stride, int pad, int dilation) {
  return {.rows = y,
          .to_first = 0,
          .to_step = 1,
          .from_first = -pad,
          .from_step = stride,
          .tap_distance = dilation,
          .size = x,
          .taps = filter,
          .tap_first = 0,
          .tap_step = 1};
}

__host__ __device__ inline int greatest_common_divisor(int a, int b) {
  while (b != 0) {
    const int rest = a % b;
    a = b, b = rest;
  }
  return a;
}

// The first tap of a phase; `filter` or more if the phase has none.
__host__ __device__ inline int first_tap_of(int phase, int filter, int stride, int dilation) {
  if (dilation == 1) return phase;
  int tap = 0;
  while (tap < filter && (phase - int64_t{tap} * dilation) % stride != 0) ++tap;
  return tap;
}

// dx[h] sums dy[(h + pad - tap * dilation) / stride] over the taps for which this is an integer: the taps of
// the same phase. The axis has the pixels first, first + stride, ...; phases_of() is the number of values of
// `first`. kBoth: the stride and the dilation may both be more than 1, which takes more registers.
template <bool kBoth = true>
__host__ __device__ inline Axis backward_axis(int dx, int dy, int filter, int stride, int pad, int dilation,
                                              int first) {
  const int phase = static_cast<int>((int64_t{first} + pad) % stride);
  const int tap = kBoth ? first_tap_of(phase, filter, stride, dilation) : phase;
  const int common = !kBoth || dilation == 1 ? 1 : greatest_common_divisor(stride, dilation),
            step = stride / common;
  const bool has_taps = tap < filter;
  return {.rows = (dx - 1 - first) / stride + 1,
          .to_first = first,
          .to_step = stride,
          .from_first =
              has_taps ? static_cast<int>((int64_t{first} + pad - int64_t{tap} * dilation) / stride) : 0,
          .from_step = 1,
          .tap_distance = -dilation / common,
          .size = dy,
          .taps = has_taps ? (filter - 1 - tap) / step + 1 : 0,
          .tap_first = tap,
          .tap_step = step};
}

__host__ __device__ inline int phases_of(int dx, int stride) { return dx < stride ? dx : stride; }

// Both axes of a phase, and the number of phases. A forward pass has one.
struct Axes {
  Axis h, w;
};
template <ConvOperation operation, bool kBoth = true>
__host__ __device__ inline Axes axes_of(const ConvGeometry& g, int phase) {
  if (operation == ConvOperation::forward)
    return {forward_axis(g.h, g.p, g.r, g.stride_h, g.pad_h, g.dilation_h),
            forward_axis(g.w, g.q, g.s, g.stride_w, g.pad_w, g.dilation_w)};
  const int phases_w = phases_of(g.w, g.stride_w);
  return {backward_axis<kBoth>(g.h, g.p, g.r, g.stride_h, g.pad_h, g.dilation_h, phase / phases_w),
          backward_axis<kBoth>(g.w, g.q, g.s, g.stride_w, g.pad_w, g.dilation_w, phase % phases_w)};
}
template <ConvOperation operation>
__host__ __device__ inline int64_t phases_of(const ConvGeometry& g) {
  return operation == ConvOperation::forward
             ? 1
             : int64_t{phases_of(g.h, g.stride_h)} * phases_of(g.w, g.stride_w);
}

// `count` taps along one axis: begin, begin + 1, ...
struct TapRange {
  int begin = 0;
  int count = 0;
};

// The pixels from the one that tap 0 reads that taps of rows in [first, last] may read: begin to begin +
// count - 1, in the direction of the taps.
__host__ __device__ inline TapRange distances_between(const Axis& axis, int first, int last) {
  const int low = axis.from_first + first * axis.from_step, high = axis.from_first + last * axis.from_step;
  const int begin = axis.tap_distance > 0 ? -high : low - (axis.size - 1);
  const int end = (axis.tap_distance > 0 ? axis.size - 1 - low : high) + 1;
  return {begin < 0 ? 0 : begin, end - (begin < 0 ? 0 : begin)};
}

// The taps that at least one row in [first, last] needs, where adjacent taps read adjacent pixels.
__host__ __device__ inline TapRange adjacent_taps_between(const Axis& axis, int first, int last) {
  const auto [begin, count] = distances_between(axis, first, last);
  const int end = begin + count > axis.taps ? axis.taps : begin + count;
  return {begin, end > begin ? end - begin : 0};
}
// The same at any distance.
__host__ __device__ inline TapRange taps_between(const Axis& axis, int first, int last) {
  const int distance = axis.tap_distance > 0 ? axis.tap_distance : -axis.tap_distance;
  if (distance == 1) return adjacent_taps_between(axis, first, last);
  const auto [from, count] = distances_between(axis, first, last);
  const int begin = (from + distance - 1) / distance;
  int end = count > 0 ? (from + count - 1) / distance + 1 : 0;
  if (end > axis.taps) end = axis.taps;
  return {begin, end > begin ? end - begin : 0};
}

// A position in the inner dimension, or the distance between two positions.
struct TapPosition {
  int channel = 0;
  int s = 0;
  int r = 0;
};

class TapWalk {
 public:
  TapWalk() = default;
  __device__ __forceinline__ TapWalk(const TapRange& r, const TapRange& s, int channels)
      : r_(r), s_(s), channels_(channels), length_(r.count * s.count * channels) {}

  // Restricts the walk to part [begin, end) of a walk over all taps, `taps_w` in a row. So the terms of a
  // part do not depend on the tile.
  __device__ __forceinline__ void restrict_to(int begin, int end, int taps_w) {
    const int to = positions_before(end, taps_w);
    begin_ = positions_before(begin, taps_w);
    length_ = to - begin_;
  }

  // The length of the inner dimension.
  __device__ __forceinline__ int length() const { return length_; }

  __device__ __forceinline__ TapPosition at(int k) const { return distance(begin_ + k); }
  __device__ __forceinline__ TapPosition begin() const { return begin_ == 0 ? TapPosition() : at(0); }
  // From any k to the one `k` further, for advance().
  __device__ __forceinline__ TapPosition distance(int k) const {
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
  // The taps of the walk in a row of the filter.
  __device__ __forceinline__ int columns() const { return s_.count; }
  __device__ __forceinline__ int r(const TapPosition& position) const { return r_.begin + position.r; }
  __device__ __forceinline__ int s(const TapPosition& position) const { return s_.begin + position.s; }

 private:
  // The number of positions of this walk before position k of a walk over all taps.
  __device__ __forceinline__ int positions_before(int k, int taps_w) const {
    if (k == 0) return 0;
    const int r = k / channels_ / taps_w - r_.begin, s = k / channels_ % taps_w - s_.begin;
    const int row = s_.count * channels_;
    if (r < 0) return 0;
    if (r >= r_.count) return r_.count * row;
    if (s < 0) return r * row;
    if (s >= s_.count) return (r + 1) * row;
    return r * row + s * channels_ + k % channels_;
  }

  TapRange r_, s_;
  int channels_ = 0;
  int begin_ = 0, length_ = 0;
};

}  // namespace rondo
