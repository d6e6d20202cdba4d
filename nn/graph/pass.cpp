#include <rondo/collectives/collectives.h>
#include <rondo/kernels/activation/add.h>
#include <rondo/nn/graph/replica.h>

#include <algorithm>

namespace rondo::nn {

// Runs one pass over all replicas, one schedule entry at a time. The replicas' work runs concurrently on
// their streams. Where they share statistics, an all-reduce in the middle of an operation synchronises them.
class PassRunner {
  using Kind = ScheduleEntry::Kind;

 public:
  PassRunner(std::span<Replica> replicas, const Pass& pass) : replicas_(replicas), pass_(pass) {
    for (const Replica& replica : replicas) {
      whole_batch_ += replica.batch_;
      streams_.push_back(replica.stream_);
    }
    if (pass.whole_batch > 0) whole_batch_ = pass.whole_batch;
    const std::vector<Step>& steps = replicas[0].plan_.steps;
    while (steps[outside_].moment.kind != Kind::outside) ++outside_;
    check_same_schedule();
  }

  void forward(const std::function<void(int)>& after_node) { run(0, outside_, Kind::forward, after_node); }

  void backward(const std::function<void(int)>& after_node) {
    const size_t end = replicas_[0].plan_.steps.size();
    if (replicas_[0].plan_.output_gradient == kNowhere)
      throw Error(bad_argument("backward: the memory was planned for evaluation, must be for training"));
    run(outside_ + 1, end, Kind::backward, after_node);
  }

 private:
  const Graph& graph() const { return replicas_[0].graph_; }

  // Batch sizes, and so memory offsets, may differ between replicas; the schedule may not.
  void check_same_schedule() const {
    for (const Replica& replica : replicas_)
      if (!std::ranges::equal(replica.plan_.steps, replicas_[0].plan_.steps, {}, &Step::moment,
                              &Step::moment))
        throw Error(bad_argument("pass: the replicas' memory was planned for different schedules"));
  }

  // Storage for the arguments of one operation's call; the spans in `run` point to it.
  struct Call {
    std::vector<ConstTensor> inputs;
    std::vector<Tensor> input_gradients;
    std::vector<float*> parameters, gradients, states;
    double* sums[2];
    OpContext run;
  };

  // Runs steps [begin, end). Calls `after_node` after steps of the kind `heard`.
  void run(size_t begin, size_t end, Kind heard, const std::function<void(int)>& after_node) {
    for (size_t step = begin; step < end; ++step) {
      const ScheduleEntry& moment = replicas_[0].plan_.steps[step].moment;
      run(step);
      if (after_node && moment.kind == heard) after_node(moment.node);
    }
  }

  void run(size_t index) {
    const ScheduleEntry& moment = replicas_[0].plan_.steps[index].moment;
    const Op& op = *graph().nodes()[static_cast<size_t>(moment.node)].op;
    const bool backward = moment.kind == Kind::backward;
    std::vector<Call> calls(replicas_.size());
    for (size_t r = 0; r < calls.size(); ++r)
      prepare(calls[r], replicas_[r], replicas_[r].plan_.steps[index]);
    if (op.shared_sums() > 0 && (backward || (moment.kind == Kind::forward && pass_.training))) {
      on_each(calls,
              [&](const OpContext& run) { return backward ? op.backward_sums(run) : op.forward_sums(run); });
      if (pass_.sync_batch_norm) share(calls, op.shared_sums(), backward);
    }
    on_each(calls, [&](const OpContext& run) { return backward ? op.backward(run) : op.forward(run); });
    if (backward)
      for (Replica& replica : replicas_) add_contributions(replica, replica.plan_.steps[index]);
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
    throw_if_error(all_reduce(sums, pass_.how, *pass_.sync_batch_norm, streams_));
  }

  void prepare(Call& call, Replica& replica, const Step& step) {
    const Graph& graph = replica.graph_;
    const Graph::Node& node = graph.nodes()[static_cast<size_t>(step.moment.node)];
    const bool backward = step.moment.kind == Kind::backward;
    const auto tensor = [&](int64_t place, int value) {
      return replica.tensor(place, graph.values()[static_cast<size_t>(value)].shape);
    };
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      call.inputs.push_back(tensor(step.inputs[i], node.inputs[i]));
      if (backward) call.input_gradients.push_back(tensor(step.input_gradients[i], node.inputs[i]));
    }
    for (int p : node.parameters) {
      const int64_t offset = graph.parameters()[static_cast<size_t>(p)].offset;
      call.parameters.push_back(replica.parameters_.data() + offset);
      call.gradients.push_back(replica.gradients_.data() + offset);
    }
    for (int s : node.states) call.states.push_back(replica.state(graph.states()[static_cast<size_t>(s)]));
    call.sums[0] = replica.sums_.data();
    call.sums[1] = replica.sums_.data() + node.op->shared_sums();
    OpContext& run = call.run;
    run.batch = replica.batch_;
    run.first = replica.first_;
    run.summed_batch = pass_.sync_batch_norm ? whole_batch_ : replica.batch_;
    run.training = pass_.training;
    run.recompute = step.moment.kind == Kind::recompute;
    run.seed = pass_.seed;
    run.step = replica.step_.data();
    run.inputs = call.inputs;
    run.output = tensor(step.output, node.output);
    if (backward) run.output_gradient = tensor(step.output_gradient, node.output);
    run.input_gradients = call.input_gradients;
    run.parameters = call.parameters;
    run.parameter_gradients = call.gradients;
    run.states = call.states;
    run.sums = call.sums;
    run.workspace = {replica.workspace_.data(), replica.workspace_.bytes()};
    run.stream = replica.stream_;
  }

  void add_contributions(Replica& replica, const Step& step) {
    const Graph::Node& node = replica.graph_.nodes()[static_cast<size_t>(step.moment.node)];
    const DeviceScope scope(replica.device_);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (step.added_to[i] == kNowhere) continue;
      const Shape& shape = replica.graph_.values()[static_cast<size_t>(node.inputs[i])].shape;
      const VectorView<float> sum = replica.tensor(step.added_to[i], shape).elements();
      const VectorView<float> contribution = replica.tensor(step.input_gradients[i], shape).elements();
      throw_if_error(add(sum, sum, contribution, false, replica.stream_));
    }
  }

  std::span<Replica> replicas_;
  const Pass& pass_;
  size_t outside_ = 0;
  int64_t whole_batch_ = 0;
  std::vector<cudaStream_t> streams_;
};

void forward(std::span<Replica> replicas, const Pass& pass, const std::function<void(int node)>& after_node) {
  PassRunner(replicas, pass).forward(after_node);
}

void backward(std::span<Replica> replicas, const Pass& pass,
              const std::function<void(int node)>& after_node) {
  PassRunner(replicas, pass).backward(after_node);
}

}  // namespace rondo::nn
