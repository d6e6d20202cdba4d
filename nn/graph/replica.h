// Replica: one copy of a network in a device's memory. forward() and backward() run a pass on all replicas.
#pragma once

#include <rondo/collectives/collectives.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/nn/graph/graph.h>
#include <rondo/nn/graph/memory_plan.h>

#include <functional>
#include <span>
#include <vector>

namespace rondo::nn {

// Options of a pass over one batch. A pass only enqueues work, so it can be captured in a graph.
struct Pass {
  bool training = false;
  uint64_t seed = 0;
  // If set, batch norm adds its sums over this communicator's ranks; replica r is local rank r. Null: each
  // replica uses its own sums.
  Communicator* sync_batch_norm = nullptr;
  ReduceOptions how = {.algorithm = Algorithm::direct};  // of the all-reduce of these sums
  int64_t whole_batch = 0;  // samples on all ranks of sync_batch_norm; 0: samples of `replicas`
  // forward() uses Replica::rounded_parameters() as they are. False: it rounds the parameters first.
  bool rounded = false;
};

// Device memory of a replica, in bytes.
struct ReplicaMemory {
  int64_t parameters = 0, gradients = 0;
  int64_t rounded_parameters = 0;  // in the type of the activations, if that is not float32
  int64_t states = 0;              // of the layers, such as running statistics
  int64_t arena = 0;               // activations and their gradients
  int64_t statistics = 0;          // sums shared between replicas, and the step counter
  int64_t workspace = 0;

  int64_t total() const {
    return parameters + gradients + rounded_parameters + states + arena + statistics + workspace;
  }
};

// The largest workspace of any operation for any batch up to max_batch. Fewer samples can need more, where a
// sum is split into more parts. A smaller workspace would make an operation slower and change its rounding.
// Beyond kMostBatchesTried it is a bound, up to 39 MB more: trying 10 million batches would take a minute.
inline constexpr int64_t kMostBatchesTried = 4096;
int64_t workspace_bytes(const Graph& graph, int64_t max_batch);

// The arguments of one call of an operation, and the memory that they refer to. The context's spans refer to
// the other members, so it must not be moved or copied after Replica::prepare().
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
};

class Replica {
 public:
  // `stream` is a stream of `device` and receives all work of this replica. The graph must outlive the
  // replica. Parameters and states are 0 until initialise(). in_flight: the number of batches whose
  // activations it has memory for. Throws rondo::Error.
  Replica(const Graph& graph, int device, cudaStream_t stream, MemoryPlan plan, int64_t max_batch,
          int64_t in_flight = 1);

  int device() const { return device_; }
  cudaStream_t stream() const { return stream_; }
  int64_t max_batch() const { return max_batch_; }
  const MemoryPlan& plan() const { return plan_; }
  ReplicaMemory memory() const;

  // All parameters, gradients or states, in float32, as one flat vector, including the gaps between tensors,
  // which stay 0. Call parameters() or parameter() again for every change of the values: after the call the
  // copy in rounded_parameters() counts as old, and the next training step begins with round_parameters().
  VectorView<float> parameters() {
    rounded_is_current_ = false;
    return view(parameters_);
  }
  VectorView<float> gradients() { return view(gradients_); }
  VectorView<float> states() { return view(states_); }
  float* parameter(const Parameter& p) { return parameters().data + p.offset; }
  float* state(const Parameter& p) { return states_.data() + p.offset; }

  // The copy of parameters() in the type of the activations, for the products; empty if that is float32.
  VectorView<__nv_bfloat16> rounded_parameters() {
    return {rounded_parameters_.data(), rounded_parameters_.size()};
  }
  // Writes the copy, on the replica's stream.
  void round_parameters();
  bool rounded_is_current() const { return rounded_is_current_; }
  // True: an optimizer has written parameters() and rounded_parameters() together.
  void set_rounded_is_current(bool current) { rounded_is_current_ = current; }

  // Makes batch `index` in [0, in_flight) the one that the following functions refer to; at first it is 0.
  void select(int64_t index) { selected_ = static_cast<size_t>(index); }
  // Sets the replica's samples of the next pass: their number, and the number of samples of the whole batch
  // on lower ranks.
  void set_batch(int64_t batch, int64_t first);
  int64_t batch() const { return batches_[selected_].size; }
  int64_t first() const { return batches_[selected_].first; }
  const Graph& graph() const { return graph_; }
  // Write the input before forward(), which may overwrite it. The output is valid from forward() until
  // backward() begins; write the output gradient between the two.
  Tensor input() { return tensor(plan_.input, graph_.input()); }
  Tensor output() { return tensor(plan_.output, graph_.output()); }
  Tensor output_gradient() { return tensor(plan_.output_gradient, graph_.output()); }
  // Null data unless PlanOptions::input_gradient was set.
  Tensor input_gradient() { return tensor(plan_.input_gradient, graph_.input()); }
  // Tensors of one node. Valid only in `after_node` of forward() or backward() for that node: the output; the
  // gradient that the node computed for its i-th input; and the gradient of that input to which this was
  // added (null data if it was the first).
  Tensor output_of(int node);
  Tensor input_gradient_of(int node, int i);
  Tensor added_to_by(int node, int i);

  // ---- For running single operations, as a pass does for all replicas ----

  // Throws a bad_argument Error if the plan has no such step.
  const Step& step_of(ScheduleEntry::Kind kind, int node) const;
  // Fills `call` with the arguments of a step of the plan. summed_batch: OpContext::summed_batch. gradients:
  // where the operation writes its parameters' gradients, one after the other (ArenaLayout); null: their
  // place in gradients().
  void prepare(OpCall& call, const Step& step, const Pass& pass, int64_t summed_batch,
               float* gradients = nullptr);
  // Call after backward of a step. For each input that several operations use, adds the gradient that this
  // one computed to the sum of the gradients so far.
  void add_contributions(const Step& step);

  // Result of first_nonfinite() for the gradients, for the optimizers' kernels; null if it is not computed.
  const unsigned long long* first_nonfinite() const { return first_nonfinite_; }
  void set_first_nonfinite(const unsigned long long* first_nonfinite) { first_nonfinite_ = first_nonfinite; }
  int64_t* step() { return step_.data(); }  // step counter; the trainer advances it

  // Sets parameters and states to initial values that depend only on the seed, on the replica's stream.
  void initialise(uint64_t seed);

  // Memory that a replica with one batch in flight will allocate.
  static ReplicaMemory memory(const Graph& graph, const MemoryPlan& plan, int64_t max_batch);

 private:
  // A batch in flight.
  struct Batch {
    int64_t size = 0, first = 0;
    Buffer<float> arena;  // activations and their gradients
  };

  static VectorView<float> view(Buffer<float>& buffer) { return {buffer.data(), buffer.size()}; }
  float* place(int64_t offset) {
    return offset == kNowhere ? nullptr : batches_[selected_].arena.data() + offset;
  }
  Tensor tensor(int64_t offset, const Value& value) {
    return {place(offset), batches_[selected_].size, value.shape, value.type};
  }
  Tensor tensor(int64_t offset, int value) { return tensor(offset, graph_.value(value)); }
  void fill(float* data, const Parameter& parameter, uint64_t seed, uint64_t sequence);

  const Graph& graph_;
  int device_;
  cudaStream_t stream_;
  MemoryPlan plan_;
  int64_t max_batch_;
  const unsigned long long* first_nonfinite_ = nullptr;
  std::vector<Batch> batches_;  // in flight
  size_t selected_ = 0;
  Buffer<float> parameters_, gradients_, states_;
  Buffer<__nv_bfloat16> rounded_parameters_;  // empty if activations are float32
  bool rounded_is_current_ = false;
  Buffer<double> sums_;
  Buffer<int64_t> step_;
  Buffer<std::byte> workspace_;
};

// replicas[r].output() = network(replicas[r].input()), for every replica. Calls `after_node` after a node's
// work has been enqueued for all replicas. Throws rondo::Error.
void forward(std::span<Replica> replicas, const Pass& pass,
             const std::function<void(int node)>& after_node = {});

// Computes replicas[r].gradients() from replicas[r].output_gradient(). The gradients are overwritten with
// sums over the replica's samples. Requires a preceding training forward() on the same batch with the same
// Pass. Values that were not kept are recomputed. Calls `after_node` after a node's work has been enqueued
// for all replicas: the gradients of its parameters are then complete in stream order. Throws rondo::Error.
void backward(std::span<Replica> replicas, const Pass& pass,
              const std::function<void(int node)>& after_node = {});

}  // namespace rondo::nn
