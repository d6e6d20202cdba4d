// The convolutions by wgmma for bfloat16.
#include <rondo/kernels/conv/implicit_gemm/conv2d_wgmma.cuh>
#include <rondo/kernels/conv/implicit_gemm/filter_gradient_wgmma.cuh>

namespace rondo {

template Status launch_conv2d_wgmma(const char*, Math, ConvOperation, WgmmaConvTile, WgmmaConvPixels,
                                    const WgmmaConvArguments<__nv_bfloat16>&, cudaStream_t);
template Status launch_filter_gradient_wgmma(const char*, WgmmaConvTile, WgmmaConvPixels, float*,
                                             const __nv_bfloat16*, const __nv_bfloat16*, const ConvGeometry&,
                                             int64_t, float*, cudaStream_t);

}  // namespace rondo
