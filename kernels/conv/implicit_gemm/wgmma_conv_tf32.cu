// The forward convolution and the data gradient by wgmma in tf32.
#include <rondo/kernels/conv/implicit_gemm/conv2d_wgmma.cuh>

namespace rondo {

template Status launch_conv2d_wgmma(const char*, ConvOperation, WgmmaConvTile, WgmmaConvPixels, float*,
                                    const float*, const float*, const ConvEpilogue<float>&,
                                    const ConvGeometry&, int64_t, float*, cudaStream_t);

}  // namespace rondo
