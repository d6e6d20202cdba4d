// A fully connected layer.
#pragma once

#include <rondo/nn/layers/init.h>
#include <rondo/nn/layers/module.h>

#include <optional>

namespace rondo::nn {

// y[n, j] = bias[j] + sum over i of x[n, i] * weight[i, j]
//
// An input of any shape is treated as a vector, in NHWC order. Parameters: "weight" [inputs, outputs] and,
// with `bias`, "bias" [outputs].
class Linear : public Module {
 public:
  struct Options {
    bool bias = true;
    WeightInit weights = {};
    std::optional<Math> math = {};  // of the products; by default that of the graph
  };
  explicit Linear(int64_t outputs) : Linear(outputs, Options{}) {}
  Linear(int64_t outputs, Options options) : outputs_(outputs), options_(options) {}
  Value build(Graph& graph, Value x) const override;
  int64_t outputs() const override { return outputs_; }
  AnyModule with_outputs(int64_t outputs) const override { return Linear(outputs, options_); }

 private:
  int64_t outputs_;
  Options options_;
};

}  // namespace rondo::nn
