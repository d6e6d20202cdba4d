// The launchers of the implicit GEMMs by multiply-adds. Each .cu file instantiates them for one arithmetic.
#pragma once

#include <rondo/kernels/conv/implicit_gemm/launchers.cuh>
#include <rondo/kernels/gemm/fma/tiles.cuh>

namespace rondo {

template <Arithmetic kArithmetic>
Status launch_conv2d_fma(const char* name, ConvOperation operation, const TileId& tile,
                         Conv2dParameters<FactorOf<kArithmetic>>& p, cudaStream_t stream) {
  return with_fma_tile<kArithmetic>(
      name, tile, [&]<class Tile>() { return launch_conv2d_tile<Tile>(name, operation, p, stream); });
}

template <Arithmetic kArithmetic>
Status launch_filter_gradient_fma(const char* name, const TileId& tile,
                                  FilterGradientParameters<FactorOf<kArithmetic>>& p, int64_t splits,
                                  cudaStream_t stream) {
  return with_fma_tile<kArithmetic>(
      name, tile, [&]<class Tile>() { return launch_filter_gradient_tile<Tile>(name, p, splits, stream); });
}

#define RONDO_CONV2D_FMA(arithmetic)                                                                    \
  template Status launch_conv2d_fma<arithmetic>(const char*, ConvOperation, const TileId&,              \
                                                Conv2dParameters<FactorOf<arithmetic>>&, cudaStream_t); \
  template Status launch_filter_gradient_fma<arithmetic>(                                               \
      const char*, const TileId&, FilterGradientParameters<FactorOf<arithmetic>>&, int64_t, cudaStream_t);

}  // namespace rondo
