// The forward convolution and the data gradient by wgmma in tf32.
#include <rondo/kernels/conv/implicit_gemm/wgmma/conv2d_wgmma.cuh>

namespace rondo {

template Status launch_conv2d_wgmma<Arithmetic::tf32>(const char*, ConvOperation, const TileId&,
                                                      WgmmaConvPixels, const WgmmaConvArguments<float>&,
                                                      cudaStream_t);

}  // namespace rondo
