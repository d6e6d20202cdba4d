// The kernel of gemm_tc_09_stream_k for tf32.
#include <rondo/kernels/gemm/tensor_ladder/gemm_tc_09_stream_k.cuh>

namespace rondo {

template Status launch_gemm_stream_k(const char*, WgmmaTileId, const GemmArgumentsOf<float, float>&, int,
                                     Workspace, cudaStream_t);

}  // namespace rondo
