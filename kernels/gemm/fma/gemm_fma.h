// Products by multiply-adds: the pipelined kernel with the tiles of tile.cuh.
#pragma once

#include <rondo/kernels/gemm/gemm_arguments.h>
#include <rondo/kernels/gemm/gemm_plan.h>

namespace rondo {

// kArithmetic: fp32; on the executor also tf32, bf16 and fp16, of which only vector tiles exist. C: the type
// of the factors or float. The tile of the plan is one of fma or vector_fma. `workspace` has room for the
// parts of the sum over k. m and n are not zero.
template <Arithmetic kArithmetic, class C>
Status launch_gemm_fma(const char* name, const GemmPlan& plan,
                       const GemmArgumentsOf<FactorOf<kArithmetic>, C>& arguments, Workspace workspace,
                       cudaStream_t stream);

}  // namespace rondo
