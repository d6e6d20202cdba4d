// Products by mma.sync: the pipelined kernel (fma/pipelined.cuh) with the tiles of tensor_tile.cuh.
#pragma once

#include <rondo/kernels/gemm/gemm_arguments.h>
#include <rondo/kernels/gemm/gemm_plan.h>

namespace rondo {

// kArithmetic: tf32, tf32x3, bf16 or fp16; C: the type of the factors or float. The tile of the plan is one
// of mma.sync. `workspace` has room for the parts of the sum over k. m and n are not zero.
template <Arithmetic kArithmetic, class C>
Status launch_gemm_mma(const char* name, const GemmPlan& plan,
                       const GemmArgumentsOf<FactorOf<kArithmetic>, C>& arguments, Workspace workspace,
                       cudaStream_t stream);

}  // namespace rondo
