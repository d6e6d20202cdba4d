// Replica: what one copy of a network holds in a device's memory; forward() and backward(): a pass over all replicas.
#pragma once

#include <rondo/collectives/communicator.h>
#include <rondo/kernels/core/buffer.h>
#include <rondo/nn/graph/graph.h>
#include <rondo/nn/graph/memory_plan.h>

#include <functional>
#include <span>
#include <vector>

namespace rondo::nn {

// One pass of one batch. It only enqueues work, which can be recorded.
struct Pass {
  bool training = false;
  uint64_t seed = 0;
  // Adds the statistics of the replicas, rank r's of replica r; null: each has its own.
  Communicator* shared_statistics = nullptr;
};

class Replica {
 public:
  // `stream` is a stream of `device`; work of this replica goes there. The graph must outlive the replica. The parameters and
  // states are not set yet. Throws rondo::Error.
  Replica(const Graph& graph, int device, cudaStream_t stream, MemoryPlan plan, int64_t max_batch);

  int device() const { return device_; }
  cudaStream_t stream() const { return stream_; }
  int64_t max_batch() const { return max_batch_; }

  // All parameters, gradients, states: flat, gaps between the tensors included (which stay 0).
  VectorView<float> parameters() { return view(parameters_); }
  VectorView<float> gradients() { return view(gradients_); }
  VectorView<float> states() { return view(states_); }
  float* parameter(const Parameter& p) { return parameters_.data() + p.offset; }
  float* state(const Parameter& p) { return states_.data() + p.offset; }

  // How many samples the following pass has here, and how many of the whole batch come before them.
  void set_batch(int64_t batch, int64_t first);
  int64_t batch() const { return batch_; }
  Tensor input() { return value(graph_.input().id, graph_.input().shape); }
  Tensor output() { return value(graph_.output().id, graph_.output().shape); }
  Tensor output_gradient() {
    return {at(plan_.gradients, graph_.output().id), batch_, graph_.output().shape};
  }
  // Without data unless the plan has one.
  Tensor input_gradient() { return {at(plan_.gradients, 0), batch_, graph_.input().shape}; }
  int64_t* step() { return step_.data(); }  // a counter that whoever trains advances

  // Fills parameters and states as their layers want them, on the replica's stream; the same seed, the same values.
  void initialise(uint64_t seed);

  // Device memory, in bytes.
  static int64_t bytes(const Graph& graph, const MemoryPlan& plan, int64_t max_batch);

 private:
  friend class PassRunner;

  static VectorView<float> view(Buffer<float>& buffer) { return {buffer.data(), buffer.size()}; }
  float* at(const std::vector<int64_t>& places, int value) {
    const int64_t place = places[static_cast<size_t>(value)];
    return place == MemoryPlan::kNone ? nullptr : arena_.data() + place;
  }
  Tensor value(int id, Shape shape) { return {at(plan_.values, id), batch_, shape}; }
  void fill(float* data, const Parameter& parameter, uint64_t seed, uint64_t sequence);

  const Graph& graph_;
  int device_;
  cudaStream_t stream_;
  MemoryPlan plan_;
  int64_t max_batch_;
  int64_t batch_ = 0, first_ = 0;
  Buffer<float> parameters_, gradients_, states_, arena_;
  Buffer<double> sums_;
  Buffer<int64_t> step_;
  Buffer<std::byte> workspace_;
};

// replicas[r].output() = network(replicas[r].input()), for every replica. Throws rondo::Error.
void forward(std::span<Replica> replicas, const Pass& pass);

// From replicas[r].output_gradient() to replicas[r].gradients(), which are overwritten with the sums over the replica's
// samples. After forward() of the same batch in training. `after_node` is called when all replicas' work of a node has been
// enqueued: the gradients of its parameters are then complete in stream order. Throws rondo::Error.
void backward(std::span<Replica> replicas, const Pass& pass,
              const std::function<void(int node)>& after_node = {});

}  // namespace rondo::nn
