// The kernels of gemm_tc_07_persistent and gemm_tc_08_clusters for tf32.
#include <rondo/kernels/gemm/tensor_ladder/gemm_tc_08_clusters.cuh>

namespace rondo {

template Status launch_gemm_persistent(const char*, WgmmaTileId, const GemmArgumentsOf<float, float>&,
                                       const GemmConfig&, Workspace, cudaStream_t);

}  // namespace rondo
