// Convolutions with a tile of the test's choice.
#pragma once

#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/conv/conv_plan.h>
#include <rondo/tests/kernels/products_by_tile.h>

namespace rondo::test {

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
