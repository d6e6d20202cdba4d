// The epilogue of a forward convolution as the epilogue of a tile.
#pragma once

#include <rondo/kernels/conv/conv_geometry.h>
#include <rondo/kernels/gemm/epilogue.cuh>

namespace rondo {

// For a kernel that stores N of the `columns` values of a row of y at once.
template <int N, class T>
Epilogue tile_epilogue(const ConvEpilogue<T>& conv, const T* y, int64_t columns) {
  Epilogue epilogue = {.bias = conv.bias, .activation = conv.relu ? Activation::relu : Activation::none};
  if (conv.residual) epilogue.add_residual(conv.residual, y);
  epilogue.aligned = rows_are_aligned<N>(y, columns);
  return epilogue;
}

}  // namespace rondo
