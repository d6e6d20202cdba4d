// The convolutions by fp32 multiply-adds.
#include <rondo/kernels/conv/implicit_gemm/launchers.cuh>
#include <rondo/kernels/gemm/fma/tiles.cuh>

namespace rondo {

Status launch_conv2d_fma(const char* name, ConvOperation operation, const TileId& tile,
                         Conv2dParameters<float>& p, cudaStream_t stream) {
  return with_fma_tile(name, tile,
                       [&]<class Tile>() { return launch_conv2d_tile<Tile>(name, operation, p, stream); });
}

Status launch_filter_gradient_fma(const char* name, const TileId& tile, FilterGradientParameters<float>& p,
                                  int64_t splits, cudaStream_t stream) {
  return with_fma_tile(
      name, tile, [&]<class Tile>() { return launch_filter_gradient_tile<Tile>(name, p, splits, stream); });
}

}  // namespace rondo
