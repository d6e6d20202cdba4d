// The implicit GEMM of the filter gradient with the tiles of tf32x3.
#include <rondo/kernels/conv/implicit_gemm/filter_gradient_kernel.cuh>

namespace rondo {

Status launch_filter_gradient_tf32x3(const char* name, TileId tile, FilterGradientParameters<float>& p,
                                     int64_t splits, cudaStream_t stream) {
  return with_tensor_tile<Tf32x3Product>(
      tile, [&]<class Tile>() { return launch_filter_gradient_tile<Tile>(name, p, splits, stream); });
}

}  // namespace rondo
