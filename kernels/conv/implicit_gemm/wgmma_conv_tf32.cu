// The forward convolution and the data gradient by wgmma in tf32.
#include <rondo/kernels/conv/implicit_gemm/conv2d_wgmma.cuh>

namespace rondo {

template Status launch_conv2d_wgmma(const char*, Math, ConvOperation, WgmmaConvTile, WgmmaConvPixels,
                                    const WgmmaConvArguments<float>&, cudaStream_t);

}  // namespace rondo
