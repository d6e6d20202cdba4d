// The pipelined kernel with the tiles of tf32.
#include <rondo/kernels/gemm/gemm_pipelined.cuh>

namespace rondo {

Status launch_gemm_tf32(const char* name, const GemmArguments& g, const GemmConfig& config,
                        Workspace workspace, cudaStream_t stream) {
  return with_tensor_tile<Tf32Product>(
      config.tile, [&]<class Tile>() { return launch_pipelined<Tile>(name, g, config, workspace, stream); });
}

}  // namespace rondo
