// The launchers of the implicit GEMMs by mma.sync. Each .cu file instantiates them for one arithmetic.
#pragma once

#include <rondo/kernels/conv/implicit_gemm/launchers.cuh>
#include <rondo/kernels/gemm/mma/tensor_mainloop.cuh>
#include <rondo/kernels/gemm/mma/tiles.cuh>

namespace rondo {

template <Arithmetic kArithmetic>
Status launch_conv2d_mma(const char* name, ConvOperation operation, const TileId& tile,
                         Conv2dParameters<FactorOf<kArithmetic>>& p, cudaStream_t stream) {
  return with_mma_tile<kArithmetic>(
      name, tile, [&]<class Tile>() { return launch_conv2d_tile<Tile>(name, operation, p, stream); });
}

template <Arithmetic kArithmetic>
Status launch_filter_gradient_mma(const char* name, const TileId& tile,
                                  FilterGradientParameters<FactorOf<kArithmetic>>& p, int64_t splits,
                                  cudaStream_t stream) {
  return with_mma_tile<kArithmetic>(
      name, tile, [&]<class Tile>() { return launch_filter_gradient_tile<Tile>(name, p, splits, stream); });
}

}  // namespace rondo
