// The calls of the three passes of a convolution.
#pragma once

#include <rondo/bench/operators/conv_sample.h>
#include <rondo/bench/operators/operators.h>
#include <rondo/kernels/conv/conv_plan.h>

#include <optional>

namespace rondo::bench {

// Of the request's shape, named n, h, w, c, k, r, s, stride, pad, dilation and groups.
ConvLayer conv_layer(const OperatorRequest& request);
ConvOp conv_op(const std::string& pass);
Conv2dOptions conv_options(const OperatorRequest& request);

// Whether the operands x, y, filter and filter gradient of a call are a convolution. `T`: their type. The
// gradient is read as values of type `Gradient`, all of them in the order of `channels`.
template <class T, class Gradient>
bool is_conv(const OperatorRequest& request, Channels channels, const HostOperands& host);

// The same convolution by another algorithm, or by a kernel that the library does not choose.
// `workspace_bytes`: those of the plan.
OperatorCall conv_call(const OperatorRequest& request, ConvAlgorithm algorithm,
                       const std::optional<ConvPlan>& plan, int64_t workspace_bytes);

}  // namespace rondo::bench
