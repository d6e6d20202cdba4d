// What conv2d() and conv_transpose2d() share: the choice of a plan, and the kernels of the data gradient.
#pragma once

#include <rondo/kernels/conv/conv_plan.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// The workspace of `plan`, or without one of the plans on all devices.
int64_t workspace_bytes(const ConvProblem& problem, const ConvPlan* plan);

// `plan`, or without one that of the current device. Errors: a plan of another kind of convolution.
Status find_plan(const char* name, const ConvProblem& problem, const ConvPlan* plan, ConvPlan* found);

// dx, or the result of a transposed convolution, after the argument checks. `wanted`: as for find_plan(). T:
// float, __nv_bfloat16 or __half.
template <class T>
Status run_data_gradient(const char* name, const ConvPlan* wanted, const ConvProblem& problem, T* to,
                         const T* from, const T* filter, const ConvEpilogue<T>& epilogue, Workspace workspace,
                         cudaStream_t stream);

}  // namespace rondo
