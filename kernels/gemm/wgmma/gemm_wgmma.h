// Products by wgmma: the persistent kernel, its cluster of two blocks, and stream-K.
#pragma once

#include <rondo/kernels/gemm/gemm_arguments.h>
#include <rondo/kernels/gemm/gemm_plan.h>

namespace rondo {

// kArithmetic: tf32, tf32x3, bf16 or fp16; C: the type of the factors or float. The tile of the plan is one
// of wgmma. wgmma supports the product (gemm_plan.h), and `workspace` has the partial sums of the plan, with
// any contents. m and n are not zero.
template <Arithmetic kArithmetic, class C>
Status launch_gemm_wgmma(const char* name, const GemmPlan& plan,
                         const GemmArgumentsOf<FactorOf<kArithmetic>, C>& arguments, Workspace workspace,
                         cudaStream_t stream);
template <>
Status launch_gemm_wgmma<Arithmetic::tf32x3>(const char* name, const GemmPlan& plan,
                                             const GemmArguments& arguments, Workspace workspace,
                                             cudaStream_t stream);

}  // namespace rondo
