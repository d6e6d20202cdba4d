// The launcher of the products by multiply-adds. Each .cu file instantiates it for one arithmetic, so that
// they are compiled side by side.
#pragma once

#include <rondo/kernels/gemm/fma/gemm_fma.h>
#include <rondo/kernels/gemm/fma/pipelined.cuh>
#include <rondo/kernels/gemm/fma/tiles.cuh>

namespace rondo {

template <Arithmetic kArithmetic, class C>
Status launch_gemm_fma(const char* name, const GemmPlan& plan,
                       const GemmArgumentsOf<FactorOf<kArithmetic>, C>& g, Workspace workspace,
                       cudaStream_t stream) {
  return with_fma_tile<kArithmetic>(name, plan.tile, [&]<class Tile>() {
    return launch_pipelined<Tile>(name, g, plan.parts, workspace, stream);
  });
}

// The instance for results of type C.
#define RONDO_GEMM_FMA(arithmetic, C)                                                                        \
  template Status launch_gemm_fma<arithmetic, C>(const char*, const GemmPlan&,                               \
                                                 const GemmArgumentsOf<FactorOf<arithmetic>, C>&, Workspace, \
                                                 cudaStream_t);

}  // namespace rondo
