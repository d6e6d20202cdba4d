// Products by fp32 multiply-adds: the pipelined kernel with the tiles of tile.cuh.
#pragma once

#include <rondo/kernels/gemm/gemm_arguments.h>
#include <rondo/kernels/gemm/gemm_plan.h>

namespace rondo {

// The tile of the plan is one of fma or vector_fma. `workspace` has room for the parts of the sum over k. m
// and n are not zero.
Status launch_gemm_fma(const char* name, const GemmPlan& plan, const GemmArguments& arguments,
                       Workspace workspace, cudaStream_t stream);

}  // namespace rondo
