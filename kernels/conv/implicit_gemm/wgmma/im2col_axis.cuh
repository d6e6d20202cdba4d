// An axis of a convolution in the terms of a tensor map of im2col mode (core/tensor_map.h): the bounding box
// that the filter's base stays in, and the offsets of the taps from it.
#pragma once

#include <rondo/kernels/conv/implicit_gemm/taps.cuh>

#include <cstdlib>

namespace rondo {

// The base of row i: what it reads through the tap that is nearest to the beginning of the image. In a data
// gradient this is the last tap.
__host__ __device__ inline int filter_base(const Axis& axis, int row) {
  return axis.from_first + row * axis.from_step +
         (axis.tap_distance < 0 ? (axis.taps - 1) * axis.tap_distance : 0);
}
__host__ __device__ inline int filter_offset(const Axis& axis, int tap) {
  return axis.tap_distance > 0 ? tap * axis.tap_distance : (tap + 1 - axis.taps) * axis.tap_distance;
}

// The corners of the bounding box: the first base from the first pixel, the last one from the last pixel.
inline int lower_corner(const Axis& axis) { return filter_base(axis, 0); }
inline int upper_corner(const Axis& axis) { return filter_base(axis, axis.rows - 1) - (axis.size - 1); }

// Whether a map of an image with two axes can describe it: corners of 8 bits with a sign, offsets of 8 bits.
inline bool im2col_fits(const Axis& axis) {
  return lower_corner(axis) >= -128 && lower_corner(axis) <= 127 && upper_corner(axis) >= -128 &&
         upper_corner(axis) <= 127 && int64_t{axis.taps - 1} * abs(axis.tap_distance) <= 255;
}

}  // namespace rondo
