// Softmax and its logarithm, as layers: torch.nn.Softmax(dim=-1) and LogSoftmax(dim=-1) of NHWC.
#pragma once

#include <rondo/nn/layers/module.h>

namespace rondo::nn {

// y = exp(x) / sum of exp(x), with the sum over the channels of each position (kernels/softmax/softmax.h). A
// network that is trained with Loss::cross_entropy must not end with it: that loss has a softmax of its own.
class Softmax : public Module {
 public:
  Value build(Graph& graph, Value x) const override;
};

// y = x - log(sum of exp(x)), with the sum over the channels of each position. Loss::cross_entropy of y is
// that of x, because softmax(y) = softmax(x).
class LogSoftmax : public Module {
 public:
  Value build(Graph& graph, Value x) const override;
};

}  // namespace rondo::nn
