// The implicit GEMM of the filter gradient with the tiles of bfloat16.
#include <rondo/kernels/conv/implicit_gemm/filter_gradient_kernel.cuh>

namespace rondo {

template <>
Status launch_filter_gradient_narrow(const char* name, TileId tile,
                                     FilterGradientParameters<__nv_bfloat16>& p, int64_t splits,
                                     cudaStream_t stream) {
  return with_tensor_tile<NarrowProduct<__nv_bfloat16>>(
      tile, [&]<class Tile>() { return launch_filter_gradient_tile<Tile>(name, p, splits, stream); });
}

}  // namespace rondo
