#include <rondo/nn/graph/replica.h>

#include <rondo/collectives/collectives.h>
#include <rondo/kernels/activation/add.h>
#include <rondo/kernels/random/random.h>

#include <algorithm>

namespace rondo::nn {

namespace {

int64_t workspace_bytes(const Graph& graph, int64_t batch) {
  int64_t most = 0;
  for (const Graph::Node& node : graph.nodes()) most = std::max(most, node.op->workspace_bytes(batch));
  return most;
}

// Of each operation that shares sums: those of forward and those of backward.
int64_t sums_size(const Graph& graph) {
  int64_t size = 0;
  for (const Graph::Node& node : graph.nodes()) size = std::max(size, 2 * node.op->shared_sums());
  return size;
}

}  // namespace

Replica::Replica(const Graph& graph, int device, cudaStream_t stream, MemoryPlan plan, int64_t max_batch)
    : graph_(graph), device_(device), stream_(stream), plan_(std::move(plan)), max_batch_(max_batch) {
  const DeviceScope scope(device);
  parameters_ = Buffer<float>(graph.parameter_arena_size());
  gradients_ = Buffer<float>(graph.parameter_arena_size());
  states_ = Buffer<float>(graph.state_arena_size());
  arena_ = Buffer<float>(plan_.size);
  sums_ = Buffer<double>(sums_size(graph));
  step_ = Buffer<int64_t>(1);
  workspace_ = Buffer<std::byte>(workspace_bytes(graph, max_batch));
  for (Buffer<float>* buffer : {&parameters_, &gradients_, &states_}) buffer->fill_bytes(0);
  step_.fill_bytes(0);
}

int64_t Replica::bytes(const Graph& graph, const MemoryPlan& plan, int64_t max_batch) {
  const int64_t floats = 2 * graph.parameter_arena_size() + graph.state_arena_size() + plan.size;
  return floats * static_cast<int64_t>(sizeof(float)) +
         (sums_size(graph) + 1) * static_cast<int64_t>(sizeof(double)) + workspace_bytes(graph, max_batch);
}

void Replica::set_batch(int64_t batch, int64_t first) {
  if (batch < 0 || batch > max_batch_)
    throw Error(bad_argument("replica: a batch of ", batch, " samples, must be at least 0 and at most ",
                             max_batch_, ", for which the memory was planned"));
  batch_ = batch;
  first_ = first;
}

void Replica::fill(float* data, const Parameter& parameter, uint64_t seed, uint64_t sequence) {
  const VectorView<float> view = {data, parameter.size};
  const Init& init = parameter.init;
  switch (init.kind) {
    case Init::Kind::zeros:
      RONDO_CUDA_THROW(
          cudaMemsetAsync(data, 0, static_cast<size_t>(parameter.size) * sizeof(float), stream_));
      break;
    case Init::Kind::ones:
      throw_if_error(fill_uniform(view, 1, 1, {seed, sequence}, stream_));
      break;
    case Init::Kind::normal:
      throw_if_error(fill_normal(view, 0, init.scale, {seed, sequence}, stream_));
      break;
    case Init::Kind::uniform:
      throw_if_error(fill_uniform(view, -init.scale, init.scale, {seed, sequence}, stream_));
      break;
  }
}

void Replica::initialise(uint64_t seed) {
  const DeviceScope scope(device_);
  uint64_t sequence = 0;
  for (const Parameter& p : graph_.parameters()) fill(parameter(p), p, seed, sequence++);
  for (const Parameter& s : graph_.states()) fill(state(s), s, seed, sequence++);
}

// One pass over all replicas, operation by operation: the replicas' work runs side by side on their streams, and where
// they share statistics they meet in the middle of an operation.
class PassRunner {
 public:
  PassRunner(std::span<Replica> replicas, const Pass& pass) : replicas_(replicas), pass_(pass) {
    for (const Replica& replica : replicas) {
      whole_batch_ += replica.batch_;
      streams_.push_back(replica.stream_);
    }
  }

  void forward() {
    const auto nodes = static_cast<int>(graph().nodes().size());
    for (int node = 0; node < nodes; ++node) run(node, false);
  }
  void backward(const std::function<void(int)>& after_node) {
    for (int node = static_cast<int>(graph().nodes().size()) - 1; node >= 0; --node) {
      run(node, true);
      if (after_node) after_node(node);
    }
  }

 private:
  const Graph& graph() const { return replicas_[0].graph_; }

  // The pointers of one operation's call; the spans of a run point into this.
  struct Call {
    std::vector<ConstTensor> inputs;
    std::vector<Tensor> input_gradients;
    std::vector<float*> parameters, gradients, states;
    double* sums[2];
    OpRun run;
  };

  void run(int index, bool backward) {
    const Graph::Node& node = graph().nodes()[static_cast<size_t>(index)];
    const Op& op = *node.op;
    std::vector<Call> calls(replicas_.size());
    for (size_t r = 0; r < calls.size(); ++r) prepare(calls[r], replicas_[r], index, backward);
    if (op.shared_sums() > 0 && (pass_.training || backward)) {
      on_each(calls,
              [&](const OpRun& run) { return backward ? op.backward_sums(run) : op.forward_sums(run); });
      if (pass_.shared_statistics) share(calls, op.shared_sums(), backward);
    }
    on_each(calls, [&](const OpRun& run) { return backward ? op.backward(run) : op.forward(run); });
    if (backward)
      for (size_t r = 0; r < calls.size(); ++r) add_contributions(replicas_[r], index);
  }

  template <class Work>
  void on_each(const std::vector<Call>& calls, Work work) {
    for (size_t r = 0; r < calls.size(); ++r) {
      const DeviceScope scope(replicas_[r].device_);
      throw_if_error(work(calls[r].run));
    }
  }

  void share(const std::vector<Call>& calls, int64_t size, bool backward) {
    std::vector<DataView> sums;
    for (const Call& call : calls) sums.push_back({call.sums[backward ? 1 : 0], size, DType::float64});
    throw_if_error(all_reduce(sums, {.algorithm = Algorithm::direct}, *pass_.shared_statistics, streams_));
  }

  // Where backward writes the gradient of an input: the first to write has the gradient's own place.
  static float* gradient_place(Replica& replica, int node, int input, int value) {
    if (!replica.at(replica.plan_.gradients, value)) return nullptr;
    const Graph::Use writer = replica.graph_.first_writer(value);
    if (writer == Graph::Use{node, input}) return replica.at(replica.plan_.gradients, value);
    return replica.arena_.data() +
           replica.plan_.contributions[static_cast<size_t>(node)][static_cast<size_t>(input)];
  }

  void prepare(Call& call, Replica& replica, int index, bool backward) {
    const Graph::Node& node = replica.graph_.nodes()[static_cast<size_t>(index)];
    const auto shape_of = [&](int value) {
      return replica.graph_.values()[static_cast<size_t>(value)].shape;
    };
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int value = node.inputs[i];
      call.inputs.push_back(replica.value(value, shape_of(value)));
      float* gradient = backward ? gradient_place(replica, index, static_cast<int>(i), value) : nullptr;
      call.input_gradients.push_back({gradient, replica.batch_, shape_of(value)});
    }
    for (int p : node.parameters) {
      const int64_t offset = replica.graph_.parameters()[static_cast<size_t>(p)].offset;
      call.parameters.push_back(replica.parameters_.data() + offset);
      call.gradients.push_back(replica.gradients_.data() + offset);
    }
    for (int s : node.states)
      call.states.push_back(replica.state(replica.graph_.states()[static_cast<size_t>(s)]));
    call.sums[0] = replica.sums_.data();
    call.sums[1] = replica.sums_.data() + node.op->shared_sums();
    OpRun& run = call.run;
    run.batch = replica.batch_;
    run.first = replica.first_;
    run.summed_batch = pass_.shared_statistics ? whole_batch_ : replica.batch_;
    run.training = pass_.training;
    run.seed = pass_.seed;
    run.step = replica.step_.data();
    run.inputs = call.inputs;
    run.output = replica.value(node.output, shape_of(node.output));
    if (backward)
      run.output_gradient = {replica.at(replica.plan_.gradients, node.output), replica.batch_,
                             shape_of(node.output)};
    run.input_gradients = call.input_gradients;
    run.parameters = call.parameters;
    run.parameter_gradients = call.gradients;
    run.states = call.states;
    run.sums = call.sums;
    run.workspace = {replica.workspace_.data(), replica.workspace_.bytes()};
    run.stream = replica.stream_;
  }

  void add_contributions(Replica& replica, int index) {
    const Graph::Node& node = replica.graph_.nodes()[static_cast<size_t>(index)];
    const DeviceScope scope(replica.device_);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int value = node.inputs[i];
      float* gradient = replica.at(replica.plan_.gradients, value);
      float* contribution = gradient_place(replica, index, static_cast<int>(i), value);
      if (!gradient || contribution == gradient) continue;
      const int64_t size = replica.graph_.values()[static_cast<size_t>(value)].shape.size() * replica.batch_;
      throw_if_error(add({gradient, size}, {gradient, size}, {contribution, size}, false, replica.stream_));
    }
  }

  std::span<Replica> replicas_;
  const Pass& pass_;
  int64_t whole_batch_ = 0;
  std::vector<cudaStream_t> streams_;
};

void forward(std::span<Replica> replicas, const Pass& pass) { PassRunner(replicas, pass).forward(); }

void backward(std::span<Replica> replicas, const Pass& pass,
              const std::function<void(int node)>& after_node) {
  PassRunner(replicas, pass).backward(after_node);
}

}  // namespace rondo::nn
