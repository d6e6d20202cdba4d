// A fully connected layer.
#pragma once

#include <rondo/nn/module.h>

namespace rondo::nn {

// y[n, j] = bias[j] + sum over i of x[n, i] * weight[i, j]
//
// x is taken as a vector, whatever its shape (in NHWC order). Parameters "weight" [inputs, outputs] and, with `bias`, "bias"
// [outputs]. They begin as PyTorch's do: uniform within 1 / sqrt(inputs).
class Linear : public Module {
 public:
  explicit Linear(int64_t outputs, bool bias = true) : outputs_(outputs), bias_(bias) {}
  Value build(Graph& graph, Value x) const override;

 private:
  int64_t outputs_;
  bool bias_;
};

}  // namespace rondo::nn
