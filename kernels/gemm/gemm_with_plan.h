// gemm() of float matrices with the plan as an argument. gemm() chooses it; tests make their own, because
// wgmma and copies pay only for large products.
#pragma once

#include <rondo/kernels/gemm/gemm_arguments.h>
#include <rondo/kernels/gemm/gemm_plan.h>

namespace rondo {

// `arguments` have been checked. `workspace` has the bytes below. The plan's kernel supports the product
// after the plan's copies (gemm_plan.h).
Status gemm_with_plan(const char* name, const GemmPlan& plan, GemmArguments arguments, Workspace workspace,
                      cudaStream_t stream);
int64_t workspace_bytes(const GemmShape& shape, const GemmPlan& plan);

}  // namespace rondo
