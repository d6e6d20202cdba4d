// Convolutions with a tile of the test's choice.
#pragma once

#include <rondo/tests/kernels/reference/conv_reference.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/conv/conv_plan.h>
#include <rondo/tests/kernels/products_by_tile.h>

namespace rondo::test {

// Dilations in half of the draws, with images that grow by them, and padding of single sides.
inline void draw_dilation_and_sides(Random& random, ConvCase& c) {
  Conv2dOptions& o = c.options;
  if (random.below(2) == 0) {
    o.dilation_h = 1 + random.below(3), o.dilation_w = 1 + random.below(4);
    c.h += (c.r - 1) * (o.dilation_h - 1), c.w += (c.s - 1) * (o.dilation_w - 1);
  }
  if (random.below(3) == 0) o.pad_bottom = random.below(4);
  if (random.below(3) == 0) o.pad_right = random.below(4);
}

// An implicit GEMM with the tile, in `splits` parts.
inline ConvPlan plan_of_tile(const TileId& tile, int64_t splits = 1) {
  ConvPlan plan;
  plan.splits = splits;
  plan.gemm.tile = tile;
  return plan;
}
// The same for dw, in as many parts as are chosen.
inline ConvPlan filter_plan_of_tile(const TileId& tile, const ConvGeometry& geometry) {
  return plan_of_tile(tile, conv2d_splits(ConvOperation::filter_gradient, geometry));
}

// `options` with the arithmetic of the tile.
inline Conv2dOptions options_for(Conv2dOptions options, const TileId& tile) {
  options.math = tile.arithmetic == Arithmetic::tf32     ? Math::tf32
                 : tile.arithmetic == Arithmetic::tf32x3 ? Math::tf32x3
                                                         : Math::fp32;
  return options;
}

}  // namespace rondo::test
