#include <rondo/kernels/gemm/fma/gemm_fma.h>

#include <rondo/kernels/gemm/fma/pipelined.cuh>
#include <rondo/kernels/gemm/fma/tiles.cuh>

namespace rondo {

Status launch_gemm_fma(const char* name, const GemmPlan& plan, const GemmArguments& g, Workspace workspace,
                       cudaStream_t stream) {
  return with_fma_tile(name, plan.tile, [&]<class Tile>() {
    return launch_pipelined<Tile>(name, g, plan.parts, workspace, stream);
  });
}

}  // namespace rondo
