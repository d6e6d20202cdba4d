// The pipelined kernel with the tiles of tf32x3.
#include <rondo/kernels/gemm/gemm_pipelined.cuh>

namespace rondo {

Status launch_gemm_tf32x3(const char* name, const GemmArguments& g, const GemmConfig& config,
                          Workspace workspace, cudaStream_t stream) {
  return with_tensor_tile<Tf32x3Product>(
      config.tile, [&]<class Tile>() { return launch_pipelined<Tile>(name, g, config, workspace, stream); });
}

}  // namespace rondo
