// Worker: a part of a network in the memory of one device, for the strategies that cut the network itself.
//
// A Replica (nn/graph/replica.h) has one batch at a time and passes run over all replicas at once. A worker runs its own nodes
// by itself, and may have several micro-batches in flight: parameters and gradients are there once, activations once for each
// micro-batch. Where there are several, the gradients of a node's parameters are made in a place of their own and added to
// the sum; that place is as large as the largest node's parameters, not as all of them.
#pragma once

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/nn/graph/graph.h>
#include <rondo/nn/graph/memory_plan.h>
#include <rondo/nn/graph/op_call.h>
#include <rondo/nn/strategies/strategy.h>

#include <span>
#include <vector>

namespace rondo::nn {

struct WorkerOptions {
  int device = 0;
  int64_t samples = 0;          // the most of one micro-batch
  int64_t micro_batches = 1;    // the most in flight
  bool input_gradient = false;  // whether the gradient of the input is wanted
  uint64_t seed = 0;            // of what is random in training
  float learning_rate = 0;
  // The operations to run instead of the graph's own, one for each node: those of the whole network, so that what an
  // operation knows of its place in the network is what one device would know.
  std::span<const Graph::Node> operations = {};
};

class Worker {
 public:
  // The graph, which must outlive the worker, may have no states. Throws rondo::Error.
  Worker(const Graph& graph, const WorkerOptions& options);

  int device() const { return options_.device; }
  cudaStream_t stream() const { return stream_; }
  int nodes() const { return static_cast<int>(graph_.nodes().size()); }

  // Micro-batch `micro` has so many samples, the first of which has that number in the whole batch.
  void set_batch(int64_t micro, int64_t samples, int64_t first);
  Tensor input(int64_t micro = 0) { return tensor(micro, plan_.input, graph_.input().shape); }
  Tensor input_gradient(int64_t micro = 0) {
    return tensor(micro, plan_.input_gradient, graph_.input().shape);
  }
  Tensor output(int64_t micro = 0) { return tensor(micro, plan_.output, graph_.output().shape); }
  Tensor output_gradient(int64_t micro = 0) {
    return tensor(micro, plan_.output_gradient, graph_.output().shape);
  }

  enum class Direction { forward, backward };

  // `call` is filled for a node, whose spans then point into it: it must stay where it is. `into`: where the gradients of
  // the node's parameters go; null: to their place among all.
  void prepare(OpCall& call, int node, int64_t micro, Direction direction, float* into = nullptr);

  void upload_input(int64_t micro, std::span<const float> x);
  void forward(int node, int64_t micro = 0);
  // With `add` the gradients of the node's parameters are added to those that are there, else they replace them.
  void backward(int node, int64_t micro = 0, bool add = false);
  // parameters -= learning_rate * scale * gradients; the next step begins.
  void update(float scale);

  void set_parameters(const std::vector<float>& values);
  std::vector<float> parameters() const;  // waits
  // Parameters, gradients, activations, and the worker's own buffers.
  RankMemory memory() const;

 private:
  const Graph::Node& node(int index) const { return graph_.nodes()[static_cast<size_t>(index)]; }
  const Op& op(int index) const {
    return *(options_.operations.empty() ? node(index) : options_.operations[static_cast<size_t>(index)]).op;
  }
  Tensor tensor(int64_t micro, int64_t place, const Shape& shape) {
    const auto i = static_cast<size_t>(micro);
    return {place == kNowhere ? nullptr : arenas_[i].data() + place, samples_[i], shape};
  }
  Tensor tensor(int64_t micro, int64_t place, int value) {
    return tensor(micro, place, graph_.values()[static_cast<size_t>(value)].shape);
  }
  const Step& step_of(int node, Direction direction) const;
  void add_to_sums(int node);

  const Graph& graph_;
  WorkerOptions options_;
  MemoryPlan plan_;
  Stream stream_;
  std::vector<int64_t> samples_, firsts_;  // of each micro-batch
  Buffer<float> parameters_, gradients_, node_gradients_;
  std::vector<Buffer<float>> arenas_;
  Buffer<int64_t> step_;
  Buffer<float> learning_rate_;
  Buffer<std::byte> workspace_;
};

}  // namespace rondo::nn
