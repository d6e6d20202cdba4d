// What conv2d() and conv_transpose2d() share: the choice of a plan, and the kernels of the data gradient.
#pragma once

#include <rondo/kernels/conv/conv_checks.h>
#include <rondo/kernels/conv/conv_plan.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// The workspace of `plan`, or without one of the plans on all devices.
int64_t workspace_bytes(const ConvProblem& problem, const ConvPlan* plan);

// `plan`, or without one that of the current device. Errors: a plan of another kind of convolution.
Status find_plan(const char* name, const ConvProblem& problem, const ConvPlan* plan, ConvPlan* found);

// dx, or the result of a transposed convolution, with all argument checks. names.input is `to`, and
// names.output `from`. `wanted`: as for find_plan(). `bias`: of the channels of `to`; none if data is null.
// `epilogue`: beta and relu. T: float, __nv_bfloat16 or __half.
template <class T>
Status checked_data_gradient(const ConvNames& names, const ConvPlan* wanted, ImageView<T> to,
                             ImageView<const T> from, FilterView<const T> filter,
                             const Conv2dOptions& options, VectorView<const float> bias,
                             ConvEpilogue<T> epilogue, Workspace workspace, cudaStream_t stream);

}  // namespace rondo
