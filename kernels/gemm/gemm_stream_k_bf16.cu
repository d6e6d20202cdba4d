// The kernel of gemm_tc_09_stream_k for bf16.
#include <rondo/kernels/gemm/tensor_ladder/gemm_tc_09_stream_k.cuh>

namespace rondo {

template Status launch_gemm_stream_k(const char*, WgmmaTileId,
                                     const GemmArgumentsOf<__nv_bfloat16, __nv_bfloat16>&, int, Workspace,
                                     cudaStream_t);
template Status launch_gemm_stream_k(const char*, WgmmaTileId, const GemmArgumentsOf<__nv_bfloat16, float>&,
                                     int, Workspace, cudaStream_t);

}  // namespace rondo
