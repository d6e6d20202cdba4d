// The epilogues of convolutions in kernels: of a tile of y or dx, and of a value of dw.
#pragma once

#include <rondo/kernels/conv/conv_geometry.h>
#include <rondo/kernels/gemm/epilogue.cuh>

namespace rondo {

// For a kernel that stores N of the `columns` values of a row of y at once.
template <int N, class T>
Epilogue tile_epilogue(const ConvEpilogue<T>& conv, const T* y, int64_t columns) {
  Epilogue epilogue = {.beta = conv.beta,
                       .bias = conv.bias,
                       .activation = conv.relu ? Activation::relu : Activation::none};
  if (conv.residual) epilogue.add_residual(conv.residual, y);
  epilogue.aligned = rows_are_aligned<N>(y, columns);
  return epilogue;
}

// Stores values of dw. Rounds as Epilogue::value(), so that the bits do not depend on the parts of a sum.
__device__ __forceinline__ void store_filter_gradient(float* to, float sum, float beta) {
  *to = beta == 0 ? sum : fmaf(beta, *to, sum);
}

}  // namespace rondo
