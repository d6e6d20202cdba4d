// Replica: what one copy of a network holds in a device's memory; forward() and backward(): a pass over all replicas.
#pragma once

#include <rondo/collectives/collectives.h>
#include <rondo/kernels/runtime/buffer.h>
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
  Communicator* sync_batch_norm = nullptr;
  ReduceOptions how = {.algorithm = Algorithm::direct};  // they are added
  int64_t whole_batch = 0;  // samples of all ranks of sync_batch_norm; 0: those of `replicas`
};

// Device memory of a replica, in bytes.
struct ReplicaMemory {
  int64_t parameters = 0, gradients = 0;
  int64_t states = 0;      // of the layers, such as running statistics
  int64_t arena = 0;       // activations and their gradients
  int64_t statistics = 0;  // sums that replicas share, and the step counter
  int64_t workspace = 0;

  int64_t total() const { return parameters + gradients + states + arena + statistics + workspace; }
};

// The largest workspace that one of the operations wants for up to so many samples: fewer samples may want more, where a sum
// is cut into more parts. With less room an operation would be slower and round in another order.
int64_t workspace_bytes(const Graph& graph, int64_t max_batch);

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
  int64_t first() const { return first_; }
  const Graph& graph() const { return graph_; }
  // The input is set before forward() and may be overwritten by it. The result is there until backward() begins; the
  // output's gradient is set between the two.
  Tensor input() { return tensor(plan_.input, graph_.input().shape); }
  Tensor output() { return tensor(plan_.output, graph_.output().shape); }
  Tensor output_gradient() { return tensor(plan_.output_gradient, graph_.output().shape); }
  // Without data unless the plan has one.
  Tensor input_gradient() { return tensor(plan_.input_gradient, graph_.input().shape); }
  // Of one node, right after its turn (`after_node` of forward() and backward()): its output; the gradient of its i-th input,
  // which is all of it where nobody else uses that input; and what that was added to, without data if it was the first.
  Tensor output_of(int node);
  Tensor input_gradient_of(int node, int i);
  Tensor added_to_by(int node, int i);
  // What first_nonfinite() finds among the gradients, where somebody looks for it; null else. Optimizers pass it on.
  const unsigned long long* found_inf() const { return found_inf_; }
  void set_found_inf(const unsigned long long* found_inf) { found_inf_ = found_inf; }
  int64_t* step() { return step_.data(); }  // a counter that whoever trains advances

  // Fills parameters and states as their layers want them, on the replica's stream; the same seed, the same values.
  void initialise(uint64_t seed);

  // What a replica will allocate.
  static ReplicaMemory memory(const Graph& graph, const MemoryPlan& plan, int64_t max_batch);
  static int64_t bytes(const Graph& graph, const MemoryPlan& plan, int64_t max_batch) {
    return memory(graph, plan, max_batch).total();
  }

 private:
  friend class PassRunner;

  static VectorView<float> view(Buffer<float>& buffer) { return {buffer.data(), buffer.size()}; }
  Tensor tensor(int64_t place, const Shape& shape) {
    return {place == kNowhere ? nullptr : arena_.data() + place, batch_, shape};
  }
  const Step& step_of(ScheduleEntry::Kind kind, int node) const;
  const Shape& shape_of(int value) const { return graph_.values()[static_cast<size_t>(value)].shape; }
  void fill(float* data, const Parameter& parameter, uint64_t seed, uint64_t sequence);

  const Graph& graph_;
  int device_;
  cudaStream_t stream_;
  MemoryPlan plan_;
  int64_t max_batch_;
  const unsigned long long* found_inf_ = nullptr;
  int64_t batch_ = 0, first_ = 0;
  Buffer<float> parameters_, gradients_, states_, arena_;
  Buffer<double> sums_;
  Buffer<int64_t> step_;
  Buffer<std::byte> workspace_;
};

// replicas[r].output() = network(replicas[r].input()), for every replica. `after_node` is called when all replicas' work
// of a node has been enqueued. Throws rondo::Error.
void forward(std::span<Replica> replicas, const Pass& pass,
             const std::function<void(int node)>& after_node = {});

// From replicas[r].output_gradient() to replicas[r].gradients(), which are overwritten with the sums over the replica's
// samples. After forward() of the same batch in training, with the same pass: what was not kept is computed again.
// `after_node` is called when all replicas' work of a node has been enqueued: the gradients of its parameters are then
// complete in stream order. Throws rondo::Error.
void backward(std::span<Replica> replicas, const Pass& pass,
              const std::function<void(int node)>& after_node = {});

}  // namespace rondo::nn
