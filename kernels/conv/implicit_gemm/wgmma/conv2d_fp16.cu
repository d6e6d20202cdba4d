// The convolutions by wgmma in fp16.
#include <rondo/kernels/conv/implicit_gemm/wgmma/conv2d_wgmma.cuh>
#include <rondo/kernels/conv/implicit_gemm/wgmma/filter_gradient_wgmma.cuh>

namespace rondo {

template Status launch_conv2d_wgmma<Arithmetic::fp16>(const char*, ConvOperation, const TileId&,
                                                      WgmmaConvPixels, const WgmmaConvArguments<__half>&,
                                                      cudaStream_t);
template Status launch_filter_gradient_wgmma<Arithmetic::fp16>(const char*, const TileId&, WgmmaConvPixels,
                                                               const FilterGradient&, const __half*,
                                                               const __half*, const ConvGeometry&, int64_t,
                                                               float*, cudaStream_t);

}  // namespace rondo
