// Worker: a part of a network on one device, for the strategies that split the network itself.
//
// A Replica (nn/graph/replica.h) has one batch at a time, and a pass runs on all replicas at once. A Worker
// runs its nodes individually and can have several micro-batches in flight. It holds parameters and gradients
// once and activations once per micro-batch. With several micro-batches, the parameter gradients of a node
// are added to the sum through a buffer as large as the largest node's parameters.
#pragma once

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/nn/data/host_uploads.h>
#include <rondo/nn/graph/graph.h>
#include <rondo/nn/graph/memory_plan.h>
#include <rondo/nn/graph/op_call.h>
#include <rondo/nn/strategies/strategy.h>

#include <span>
#include <vector>

namespace rondo::nn {

struct WorkerOptions {
  int device = 0;
  int64_t samples = 0;          // maximum in one micro-batch
  int64_t micro_batches = 1;    // maximum in flight
  bool input_gradient = false;  // also compute the gradient of the input
  uint64_t seed = 0;            // of the random numbers in training
  float learning_rate = 0;
  // Operations to run instead of the graph's own, one per node. PipelineParallel passes those of the whole
  // network, because an operation can depend on its position in the network (dropout).
  std::span<const Graph::Node> operations = {};
};

class Worker {
 public:
  // The graph must outlive the worker and must have no states. Throws rondo::Error.
  Worker(const Graph& graph, const WorkerOptions& options);

  int device() const { return options_.device; }
  cudaStream_t stream() const { return stream_; }
  int nodes() const { return static_cast<int>(graph_.nodes().size()); }

  // Micro-batch `micro` has `samples` samples, starting with sample `first` of the whole batch.
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

  // Fills `call` for a node. Its spans point into `call`, so it must not be moved or copied. `into`: buffer
  // for the node's parameter gradients; null: their place in the gradient arena.
  void prepare(OpCall& call, int node, int64_t micro, Direction direction, float* into = nullptr);

  void upload_input(int64_t micro, std::span<const float> x);
  void forward(int node, int64_t micro = 0);
  // add: adds the node's parameter gradients to the existing ones instead of overwriting them.
  void backward(int node, int64_t micro = 0, bool add = false);
  // parameters -= learning_rate * scale * gradients. Advances the step counter.
  void update(float scale);

  void set_parameters(const std::vector<float>& values);
  std::vector<float> parameters() const;  // waits
  // Parameters, gradients, activations and other buffers of the worker.
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
  HostUploads uploads_;
  std::vector<int64_t> samples_, firsts_;  // of each micro-batch
  Buffer<float> parameters_, gradients_, node_gradients_;
  std::vector<Buffer<float>> arenas_;
  Buffer<int64_t> step_;
  Buffer<float> learning_rate_;
  Buffer<std::byte> workspace_;
};

}  // namespace rondo::nn
