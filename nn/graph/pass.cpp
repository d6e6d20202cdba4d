#include <rondo/collectives/collectives.h>
#include <rondo/nn/graph/op_call.h>
#include <rondo/nn/graph/replica.h>

#include <algorithm>

namespace rondo::nn {

// Runs one pass over all replicas, one schedule entry at a time. The replicas' work runs concurrently on
// their streams. With sync batch norm, an all-reduce in the middle of an operation adds their sums.
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
    while (steps[loss_].entry.kind != Kind::loss) ++loss_;
    check_same_schedule();
  }

  void forward(const std::function<void(int)>& after_node) {
    for (Replica& replica : replicas_) {
      if (pass_.rounded) break;
      const DeviceScope scope(replica.device_);
      replica.round_parameters();
    }
    run(0, loss_, Kind::forward, after_node);
  }

  void backward(const std::function<void(int)>& after_node) {
    const size_t end = replicas_[0].plan_.steps.size();
    if (replicas_[0].plan_.output_gradient == kNowhere)
      throw Error(bad_argument("backward: the memory was planned for evaluation, must be for training"));
    run(loss_ + 1, end, Kind::backward, after_node);
  }

 private:
  static auto tensors_of(Replica& replica) {
    return [&replica](int64_t place, int value) { return replica.tensor(place, value); };
  }

  const Graph& graph() const { return replicas_[0].graph_; }

  // Batch sizes, and so memory offsets, may differ between replicas; the schedule may not.
  void check_same_schedule() const {
    for (const Replica& replica : replicas_)
      if (!std::ranges::equal(replica.plan_.steps, replicas_[0].plan_.steps, {}, &Step::entry, &Step::entry))
        throw Error(bad_argument("pass: the replicas' memory was planned for different schedules"));
  }

  // Steps [begin, end); calls after_node(node) after each step of `kind`.
  void run(size_t begin, size_t end, Kind kind, const std::function<void(int)>& after_node) {
    for (size_t step = begin; step < end; ++step) {
      const ScheduleEntry& entry = replicas_[0].plan_.steps[step].entry;
      run(step);
      if (after_node && entry.kind == kind) after_node(entry.node);
    }
  }

  void run(size_t index) {
    const ScheduleEntry& entry = replicas_[0].plan_.steps[index].entry;
    const Op& op = *graph().nodes()[static_cast<size_t>(entry.node)].op;
    const bool backward = entry.kind == Kind::backward;
    std::vector<OpCall> calls(replicas_.size());
    for (size_t r = 0; r < calls.size(); ++r)
      prepare(calls[r], replicas_[r], replicas_[r].plan_.steps[index]);
    if (op.shared_sums() > 0 && (backward || (entry.kind == Kind::forward && pass_.training))) {
      on_each(calls, [&](const OpContext& context) {
        return backward ? op.backward_sums(context) : op.forward_sums(context);
      });
      if (pass_.sync_batch_norm) share(calls, op.shared_sums(), backward);
    }
    on_each(calls,
            [&](const OpContext& context) { return backward ? op.backward(context) : op.forward(context); });
    if (backward)
      for (Replica& replica : replicas_) {
        const DeviceScope scope(replica.device_);
        add_contributions(graph().nodes()[static_cast<size_t>(entry.node)], replica.plan_.steps[index],
                          replica.stream_, tensors_of(replica));
      }
  }

  template <class Work>
  void on_each(const std::vector<OpCall>& calls, Work work) {
    for (size_t r = 0; r < calls.size(); ++r) {
      const DeviceScope scope(replicas_[r].device_);
      throw_if_error(work(calls[r].context));
    }
  }

  void share(const std::vector<OpCall>& calls, int64_t size, bool backward) {
    std::vector<DataView> sums;
    for (const OpCall& call : calls) sums.push_back({call.sums[backward ? 1 : 0], size, DType::float64});
    throw_if_error(all_reduce(sums, pass_.how, *pass_.sync_batch_norm, streams_));
  }

  void prepare(OpCall& call, Replica& replica, const Step& step) {
    const Graph& graph = replica.graph_;
    const Graph::Node& node = graph.nodes()[static_cast<size_t>(step.entry.node)];
    for (int p : node.parameters) {
      const int64_t offset = graph.parameters()[static_cast<size_t>(p)].offset;
      call.parameters.push_back(replica.parameters_.data() + offset);
      call.gradients.push_back(replica.gradients_.data() + offset);
      if (replica.rounded_parameters_.size() > 0)
        call.rounded_parameters.push_back(replica.rounded_parameters_.data() + offset);
    }
    for (int s : node.states) call.states.push_back(replica.state(graph.states()[static_cast<size_t>(s)]));
    call.sums[0] = replica.sums_.data();
    call.sums[1] = replica.sums_.data() + node.op->shared_sums();
    OpContext& context = call.context;
    context.batch = replica.batch_;
    context.first = replica.first_;
    context.summed_batch = pass_.sync_batch_norm ? whole_batch_ : replica.batch_;
    context.training = pass_.training;
    context.seed = pass_.seed;
    context.step = replica.step_.data();
    context.workspace = {replica.workspace_.data(), replica.workspace_.bytes()};
    context.stream = replica.stream_;
    if (node.sums_next && pass_.training && step.entry.kind == Kind::forward)
      context.output_sums = replica.sums_.data();
    call.bind(node, step, tensors_of(replica));
  }

  std::span<Replica> replicas_;
  const Pass& pass_;
  size_t loss_ = 0;
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
