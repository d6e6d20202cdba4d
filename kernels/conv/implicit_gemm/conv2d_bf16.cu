// The implicit GEMM of the forward convolution and of the data gradient with the tiles of bfloat16.
#include <rondo/kernels/conv/implicit_gemm/conv2d_kernel.cuh>

namespace rondo {

template <>
Status launch_conv2d_narrow(const char* name, ConvOperation operation, TileId tile,
                            Conv2dParameters<__nv_bfloat16>& p, cudaStream_t stream) {
  return launch_conv2d_with<NarrowProduct<__nv_bfloat16>>(name, operation, tile, p, stream);
}

}  // namespace rondo
