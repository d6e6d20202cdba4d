// The convolutions by mma.sync in tf32x3.
#include <rondo/kernels/conv/implicit_gemm/mma/conv2d_mma.cuh>

namespace rondo {

template Status launch_conv2d_mma<Arithmetic::tf32x3>(const char*, ConvOperation, const TileId&,
                                                      Conv2dParameters<float>&, cudaStream_t);
template Status launch_filter_gradient_mma<Arithmetic::tf32x3>(const char*, const TileId&,
                                                               FilterGradientParameters<float>&, int64_t,
                                                               cudaStream_t);

}  // namespace rondo
