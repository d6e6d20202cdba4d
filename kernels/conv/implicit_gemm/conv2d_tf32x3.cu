// The implicit GEMM of the forward convolution and of the data gradient with the tiles of tf32x3.
#include <rondo/kernels/conv/implicit_gemm/conv2d_kernel.cuh>

namespace rondo {

Status launch_conv2d_tf32x3(const char* name, ConvOperation operation, TileId tile,
                            Conv2dParameters<float>& p, cudaStream_t stream) {
  return launch_conv2d_with<Tf32x3Product>(name, operation, tile, p, stream);
}

}  // namespace rondo
