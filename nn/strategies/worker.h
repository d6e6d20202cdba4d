// Worker: a part of a network on one device, for the strategies that split the network itself.
//
// forward() and backward() of nn/graph/replica.h run a whole network on all replicas at once. A Worker runs
// the operations of its Replica one by one and can have several micro-batches in flight. With several, the
// parameter gradients of a node are added to the sum through a buffer as large as the largest node's
// parameters.
#pragma once

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/nn/data/host_uploads.h>
#include <rondo/nn/graph/replica.h>
#include <rondo/nn/optim/optimizers.h>
#include <rondo/nn/strategies/strategy.h>

#include <optional>
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
  int nodes() const { return static_cast<int>(replica_.graph().nodes().size()); }
  // Copies to the device, on the stream: one call for each micro-batch, and one more, in a step.
  HostUploads& uploads() { return uploads_; }

  // The replica, whose batch is micro-batch `micro`.
  Replica& at(int64_t micro) {
    replica_.select(micro);
    return replica_;
  }
  Replica& replica() { return at(0); }

  // The arguments of a node on a micro-batch. kind: forward or backward. `gradients`: Replica::prepare().
  void prepare(OpCall& call, int node, int64_t micro, ScheduleEntry::Kind kind, float* gradients = nullptr);
  void forward(int node, int64_t micro = 0);
  // add: adds the node's parameter gradients to the existing ones instead of overwriting them.
  void backward(int node, int64_t micro = 0, bool add = false);
  // parameters -= learning_rate * scale * gradients. Advances the step counter.
  void update(float scale);

  void set_parameters(const std::vector<float>& values);
  // Parameters, gradients, activations and other buffers of the worker.
  RankMemory memory() const;

 private:
  const Graph::Node& node(int index) const { return replica_.graph().nodes()[static_cast<size_t>(index)]; }
  const Op& op(int index) const {
    return *(options_.operations.empty() ? node(index) : options_.operations[static_cast<size_t>(index)]).op;
  }
  void add_to_sums(int node);

  WorkerOptions options_;
  Stream stream_;
  HostUploads uploads_;
  Replica replica_;
  Buffer<float> node_gradients_;
  std::optional<Sgd> sgd_;  // none where the part has no parameters
};

}  // namespace rondo::nn
