// The convolutions by mma.sync in bf16.
#include <rondo/kernels/conv/implicit_gemm/mma/conv2d_mma.cuh>

namespace rondo {

template Status launch_conv2d_mma<Arithmetic::bf16>(const char*, ConvOperation, const TileId&,
                                                    Conv2dParameters<__nv_bfloat16>&, cudaStream_t);
template Status launch_filter_gradient_mma<Arithmetic::bf16>(const char*, const TileId&,
                                                             FilterGradientParameters<__nv_bfloat16>&,
                                                             int64_t, cudaStream_t);

}  // namespace rondo
