// The forward convolution and the data gradient by wgmma in tf32x3.
#include <rondo/kernels/conv/implicit_gemm/conv2d_wgmma.cuh>

namespace rondo {

Status launch_conv2d_wgmma_tf32x3(const char* name, ConvOperation operation, WgmmaConvTile tile,
                                  WgmmaConvPixels pixels, const WgmmaConvArguments<float>& a,
                                  cudaStream_t stream) {
  return launch_conv2d_wgmma_in<Math::tf32x3>(name, operation, tile, pixels, a, stream);
}

}  // namespace rondo
