// What the kernels of convolutions in groups share: the sides and channels of results and sources, and the
// weights.
//
//   forward:        results y, sources x;   the source pixel of tap t is to * stride - pad + t * dilation
//   data gradient:  results dx, sources dy; it is (to + pad - t * dilation) / stride, where this is whole
#pragma once

#include <rondo/kernels/conv/conv_geometry.h>
#include <rondo/kernels/conv/conv_epilogue.cuh>
#include <rondo/kernels/conv/direct/filter_gradient.cuh>

namespace rondo::grouped {

using direct::InChannels;

struct Side {
  int results, sources, taps, stride, pad, dilation;
};
template <ConvOperation operation>
__host__ __device__ Side rows_of(const ConvGeometry& g) {
  return operation == ConvOperation::forward ? Side{g.p, g.h, g.r, g.stride_h, g.pad_h, g.dilation_h}
                                             : Side{g.h, g.p, g.r, g.stride_h, g.pad_h, g.dilation_h};
}
template <ConvOperation operation>
__host__ __device__ Side columns_of(const ConvGeometry& g) {
  return operation == ConvOperation::forward ? Side{g.q, g.w, g.s, g.stride_w, g.pad_w, g.dilation_w}
                                             : Side{g.w, g.q, g.s, g.stride_w, g.pad_w, g.dilation_w};
}

// The row (column) of the source that row `to` of the result reads through a tap; -1: none.
template <ConvOperation operation>
__device__ __forceinline__ int source_of(const Side& side, int to, int tap) {
  if constexpr (operation == ConvOperation::forward) {
    const int from = to * side.stride - side.pad + tap * side.dilation;
    return static_cast<unsigned>(from) < static_cast<unsigned>(side.sources) ? from : -1;
  } else {
    const int before = to + side.pad - tap * side.dilation;
    if (before < 0) return -1;
    const int from = side.stride == 1 ? before : before / side.stride;
    return from < side.sources && from * side.stride == before ? from : -1;
  }
}

// The channels of results and sources, of which a group has `in_group` and `sources`.
struct Channels {
  int results, from, in_group, sources;
};
template <ConvOperation operation>
__host__ __device__ Channels channels_of(const ConvGeometry& g) {
  const Channels forward = {g.k, g.c, g.k / g.groups, g.c / g.groups};
  if (operation == ConvOperation::forward) return forward;
  return {forward.from, forward.results, forward.sources, forward.in_group};
}

template <class T>
struct Parameters {
  ConvGeometry geometry;
  const T* from;
  const T* filter;
  T* to;
  bool aligned;  // pixels of `from` begin at multiples of 16 bytes
  int chunks;    // of channels
  int64_t pixels;
  Epilogue epilogue;
};

// The weight of a result's channel for a tap and a source channel of its group.
template <ConvOperation operation, class T>
__device__ __forceinline__ float weight(const Parameters<T>& p, const Channels& channels, int channel,
                                        int tap, int source) {
  const ConvGeometry& g = p.geometry;
  const int taps = g.r * g.s;
  if constexpr (operation == ConvOperation::forward) {
    return static_cast<float>(p.filter[(channel * taps + tap) * channels.sources + source]);
  } else {
    const int k = channel / channels.in_group * channels.sources + source;
    return static_cast<float>(p.filter[(k * taps + tap) * channels.in_group + channel % channels.in_group]);
  }
}

}  // namespace rondo::grouped
