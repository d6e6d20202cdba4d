// The kernel of gemm_tc_09_stream_k for fp16.
#include <rondo/kernels/gemm/tensor_ladder/gemm_tc_09_stream_k.cuh>

namespace rondo {

template Status launch_gemm_stream_k(const char*, WgmmaTileId, const GemmArgumentsOf<__half, __half>&, int,
                                     Workspace, cudaStream_t);
template Status launch_gemm_stream_k(const char*, WgmmaTileId, const GemmArgumentsOf<__half, float>&, int,
                                     Workspace, cudaStream_t);

}  // namespace rondo
