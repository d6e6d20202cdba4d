// The kernels of gemm_tc_07_persistent and gemm_tc_08_clusters for bf16.
#include <rondo/kernels/gemm/tensor_ladder/gemm_tc_08_clusters.cuh>

namespace rondo {

template Status launch_gemm_persistent(const char*, WgmmaTileId,
                                       const GemmArgumentsOf<__nv_bfloat16, __nv_bfloat16>&,
                                       const GemmConfig&, Workspace, cudaStream_t);
template Status launch_gemm_persistent(const char*, WgmmaTileId, const GemmArgumentsOf<__nv_bfloat16, float>&,
                                       const GemmConfig&, Workspace, cudaStream_t);

}  // namespace rondo
