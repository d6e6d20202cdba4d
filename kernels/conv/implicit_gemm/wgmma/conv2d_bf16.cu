// The convolutions by wgmma in bf16.
#include <rondo/kernels/conv/implicit_gemm/wgmma/conv2d_wgmma.cuh>
#include <rondo/kernels/conv/implicit_gemm/wgmma/filter_gradient_wgmma.cuh>

namespace rondo {

template Status launch_conv2d_wgmma<Arithmetic::bf16>(const char*, ConvOperation, const TileId&,
                                                      WgmmaConvPixels,
                                                      const WgmmaConvArguments<__nv_bfloat16>&, cudaStream_t);
template Status launch_filter_gradient_wgmma<Arithmetic::bf16>(const char*, const TileId&, WgmmaConvPixels,
                                                               const FilterGradient&, const __nv_bfloat16*,
                                                               const __nv_bfloat16*, const ConvGeometry&,
                                                               int64_t, float*, cudaStream_t);

}  // namespace rondo
