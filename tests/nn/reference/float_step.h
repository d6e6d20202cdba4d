// FloatStep: one step of a network's graph on one device. Keeps all tensors written by operations, as floats.
// If activations are bfloat16, the conversions at the two ends are left out: the first and the last node.
#pragma once

#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/tests/nn/train/model_fixture.h>

#include <vector>

namespace rondo::test {

struct FloatStep {
  using Floats = std::vector<float>;

  // The loss is the sum of the samples' cross-entropies.
  FloatStep(nn::ModelFixture& fixture, const Floats& x, const std::vector<int32_t>& labels) {
    nn::Replica& replica = fixture.replicas[0];
    const std::vector<nn::Graph::Node>& nodes = fixture.graph.nodes();
    const auto get = [&](nn::Tensor tensor) { return nn::ModelFixture::get(replica, tensor); };
    outputs.resize(nodes.size());
    output_gradients = outputs;
    fixture.upload(x);
    nn::forward(fixture.replicas, nn::kTraining,
                [&](int node) { outputs[static_cast<size_t>(node)] = get(replica.output_of(node)); });

    const auto rows = static_cast<int64_t>(labels.size());
    const Buffer<int32_t> on_device(labels);
    Buffer<LossStats> loss_stats(1);
    loss_stats.fill_bytes(0);
    Buffer<std::byte> workspace(softmax_cross_entropy_workspace_bytes(rows, replica.output().shape.size()));
    throw_if_error(softmax_cross_entropy(
        replica.output_gradient().samples(), loss_stats.data(), nn::ConstTensor(replica.output()).samples(),
        {on_device.data(), rows}, 1.0f, {workspace.data(), workspace.bytes()}, replica.stream()));
    output_gradients.back() = get(replica.output_gradient());
    loss = loss_stats.download()[0].loss;

    input_gradients.resize(nodes.size());
    nn::backward(fixture.replicas, nn::kTraining, [&](int index) {
      const nn::Graph::Node& node = nodes[static_cast<size_t>(index)];
      for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
        const nn::Tensor part = replica.input_gradient_of(index, i), sum = replica.added_to_by(index, i);
        input_gradients[static_cast<size_t>(index)].push_back(part.data ? get(part) : Floats());
        const int producer =
            fixture.graph
                .values()[static_cast<size_t>(fixture.graph.resolved(node.inputs[static_cast<size_t>(i)]))]
                .producer;
        if (producer >= 0) output_gradients[static_cast<size_t>(producer)] = get(sum.data ? sum : part);
      }
    });
    const Floats all = nn::ModelFixture::get(replica, replica.gradients());
    for (const nn::Graph::Node& node : nodes) {
      std::vector<Floats>& of_node = parameter_gradients.emplace_back();
      for (int p : node.parameters) {
        const nn::Parameter& parameter = fixture.graph.parameters()[static_cast<size_t>(p)];
        of_node.emplace_back(all.begin() + parameter.offset, all.begin() + parameter.offset + parameter.size);
      }
    }
    if (fixture.graph.activations() != DType::float32) {
      const auto leave_out = [](auto& of_nodes) { of_nodes.erase(of_nodes.begin()), of_nodes.pop_back(); };
      leave_out(outputs), leave_out(output_gradients);
      leave_out(input_gradients), leave_out(parameter_gradients);
    }
  }

  double loss = 0;
  // For each node: its output; the gradient with respect to its output; its contributions to the gradients of
  // its inputs (none for the network's input); the gradients of its parameters.
  std::vector<Floats> outputs, output_gradients;
  std::vector<std::vector<Floats>> input_gradients, parameter_gradients;
};

}  // namespace rondo::test
