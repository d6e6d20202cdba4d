// OpCall: the arguments of one call of an operation, and the memory that they refer to.
#pragma once

#include <rondo/kernels/activation/add.h>
#include <rondo/nn/graph/graph.h>
#include <rondo/nn/graph/memory_plan.h>
#include <rondo/nn/graph/op.h>

#include <vector>

namespace rondo::nn {

// The context's spans refer to the other members, so an OpCall must not be moved or copied after bind().
struct OpCall {
  OpCall() = default;
  OpCall(const OpCall&) = delete;
  OpCall& operator=(const OpCall&) = delete;

  OpContext context;
  std::vector<ConstTensor> inputs;
  std::vector<Tensor> input_gradients;
  std::vector<float*> parameters, gradients, states;
  std::vector<const __nv_bfloat16*> rounded_parameters;
  double* sums[2] = {};

  // Fills the context's tensors and spans for `step` of `node`. tensor(offset, value) returns the tensor of a
  // value of the graph, at this offset in the arena. parameters, rounded_parameters, gradients, states and
  // sums must be filled before.
  template <class TensorAt>
  void bind(const Graph::Node& node, const Step& step, TensorAt tensor) {
    const bool backward = step.entry.kind == ScheduleEntry::Kind::backward;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      inputs.push_back(tensor(step.inputs[i], node.inputs[i]));
      if (backward) input_gradients.push_back(tensor(step.input_gradients[i], node.inputs[i]));
    }
    context.recompute = step.entry.kind == ScheduleEntry::Kind::recompute;
    context.inputs = inputs;
    context.output = tensor(step.output, node.output);
    if (backward) context.output_gradient = tensor(step.output_gradient, node.output);
    context.input_gradients = input_gradients;
    context.parameters = parameters;
    context.rounded_parameters = rounded_parameters;
    context.parameter_gradients = gradients;
    context.states = states;
    context.sums = sums;
  }
};

// Call after backward of `node`. For each input that several operations use, adds the gradient that `node`
// computed to the sum of the gradients so far.
template <class TensorAt>
void add_contributions(const Graph::Node& node, const Step& step, cudaStream_t stream, TensorAt tensor) {
  for (size_t i = 0; i < step.added_to.size(); ++i) {
    if (step.added_to[i] == kNowhere) continue;
    const Tensor sum = tensor(step.added_to[i], node.inputs[i]),
                 part = tensor(step.input_gradients[i], node.inputs[i]);
    throw_if_error(with_element_type(sum.type, [&]<class T>(T) {
      const VectorView<T> to = sum.elements<T>();
      return add(to, to, part.elements<T>(), false, stream);
    }));
  }
}

}  // namespace rondo::nn
