// The convolutions by wgmma for float16.
#include <rondo/kernels/conv/implicit_gemm/conv2d_wgmma.cuh>
#include <rondo/kernels/conv/implicit_gemm/filter_gradient_wgmma.cuh>

#include <cuda_fp16.h>

namespace rondo {

template Status launch_conv2d_wgmma(const char*, Math, ConvOperation, WgmmaConvTile, WgmmaConvPixels,
                                    const WgmmaConvArguments<__half>&, cudaStream_t);
template Status launch_filter_gradient_wgmma(const char*, WgmmaConvTile, WgmmaConvPixels, float*,
                                             const __half*, const __half*, const ConvGeometry&, int64_t,
                                             float*, cudaStream_t);

}  // namespace rondo
