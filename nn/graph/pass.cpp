#include <rondo/collectives/collectives.h>
#include <rondo/kernels/activation/add.h>
#include <rondo/nn/graph/arena.h>
#include <rondo/nn/graph/replica.h>

#include <algorithm>

namespace rondo::nn {

void Replica::prepare(OpCall& call, const Step& step, const Pass& pass, int64_t summed_batch,
                      float* gradients) {
  const Graph::Node& node = graph_.nodes()[static_cast<size_t>(step.entry.node)];
  const bool backward = step.entry.kind == ScheduleEntry::Kind::backward;
  ArenaLayout layout;
  for (int p : node.parameters) {
    const Parameter& parameter = graph_.parameters()[static_cast<size_t>(p)];
    call.parameters.push_back(parameters_.data() + parameter.offset);
    call.gradients.push_back(gradients ? layout.place(gradients, parameter.size)
                                       : gradients_.data() + parameter.offset);
    if (rounded_parameters_.size() > 0)
      call.rounded_parameters.push_back(rounded_parameters_.data() + parameter.offset);
  }
  for (int s : node.states) call.states.push_back(state(graph_.states()[static_cast<size_t>(s)]));
  call.sums[0] = sums_.data();
  call.sums[1] = sums_.data() + node.op->shared_sums();
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    call.inputs.push_back(tensor(step.inputs[i], node.inputs[i]));
    if (backward) call.input_gradients.push_back(tensor(step.input_gradients[i], node.inputs[i]));
  }
  OpContext& context = call.context;
  context.batch = batch();
  context.first = first();
  context.summed_batch = summed_batch;
  context.training = pass.training;
  context.recompute = step.entry.kind == ScheduleEntry::Kind::recompute;
  context.seed = pass.seed;
  context.step = step_.data();
  context.inputs = call.inputs;
  context.output = tensor(step.output, node.output);
  context.saved = place(step.saved);
  if (backward) context.output_gradient = tensor(step.output_gradient, node.output);
  context.input_gradients = call.input_gradients;
  context.parameters = call.parameters;
  context.rounded_parameters = call.rounded_parameters;
  context.parameter_gradients = call.gradients;
  context.states = call.states;
  context.sums = call.sums;
  if (node.sums_next && pass.training && step.entry.kind == ScheduleEntry::Kind::forward)
    context.output_sums = sums_.data();
  context.workspace = {workspace_.data(), workspace_.bytes()};
  context.stream = stream_;
}

void Replica::add_contributions(const Step& step) {
  const Graph::Node& node = graph_.nodes()[static_cast<size_t>(step.entry.node)];
  for (size_t i = 0; i < step.added_to.size(); ++i) {
    if (step.added_to[i] == kNowhere) continue;
    const Tensor sum = tensor(step.added_to[i], node.inputs[i]),
                 part = tensor(step.input_gradients[i], node.inputs[i]);
    throw_if_error(with_element_type(sum.type, [&]<class T>(T) {
      const VectorView<T> to = sum.elements<T>();
      return add(to, to, part.elements<T>(), false, stream_);
    }));
  }
}

namespace {

// Runs one pass over all replicas, one schedule entry at a time. The replicas' work runs concurrently on
// their streams. With sync batch norm, an all-reduce in the middle of an operation adds their sums.
class PassRunner {
  using Kind = ScheduleEntry::Kind;

 public:
  PassRunner(std::span<Replica> replicas, const Pass& pass) : replicas_(replicas), pass_(pass) {
    for (const Replica& replica : replicas) {
      whole_batch_ += replica.batch();
      streams_.push_back(replica.stream());
    }
    if (pass.whole_batch > 0) whole_batch_ = pass.whole_batch;
    const std::vector<Step>& steps = replicas[0].plan().steps;
    while (steps[loss_].entry.kind != Kind::loss) ++loss_;
    check_same_schedule();
  }

  void forward(const std::function<void(int)>& after_node) {
    for (Replica& replica : replicas_) {
      if (pass_.rounded) break;
      const DeviceScope scope(replica.device());
      replica.round_parameters();
    }
    run(0, loss_, Kind::forward, after_node);
  }

  void backward(const std::function<void(int)>& after_node) {
    const size_t end = replicas_[0].plan().steps.size();
    if (replicas_[0].plan().output_gradient == kNowhere)
      throw Error(bad_argument("backward: the memory was planned for evaluation, must be for training"));
    run(loss_ + 1, end, Kind::backward, after_node);
  }

 private:
  const Graph& graph() const { return replicas_[0].graph(); }

  // Batch sizes, and so memory offsets, may differ between replicas; the schedule may not.
  void check_same_schedule() const {
    for (const Replica& replica : replicas_)
      if (!std::ranges::equal(replica.plan().steps, replicas_[0].plan().steps, {}, &Step::entry,
                              &Step::entry))
        throw Error(bad_argument("pass: the replicas' memory was planned for different schedules"));
  }

  // Steps [begin, end); calls after_node(node) after each step of `kind`.
  void run(size_t begin, size_t end, Kind kind, const std::function<void(int)>& after_node) {
    for (size_t step = begin; step < end; ++step) {
      const ScheduleEntry& entry = replicas_[0].plan().steps[step].entry;
      run(step);
      if (after_node && entry.kind == kind) after_node(entry.node);
    }
  }

  void run(size_t index) {
    const ScheduleEntry& entry = replicas_[0].plan().steps[index].entry;
    const Op& op = *graph().nodes()[static_cast<size_t>(entry.node)].op;
    const bool backward = entry.kind == Kind::backward;
    std::vector<OpCall> calls(replicas_.size());
    for (size_t r = 0; r < calls.size(); ++r)
      replicas_[r].prepare(calls[r], replicas_[r].plan().steps[index], pass_,
                           pass_.sync_batch_norm ? whole_batch_ : replicas_[r].batch());
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
        const DeviceScope scope(replica.device());
        replica.add_contributions(replica.plan().steps[index]);
      }
  }

  template <class Work>
  void on_each(const std::vector<OpCall>& calls, Work work) {
    for (size_t r = 0; r < calls.size(); ++r) {
      const DeviceScope scope(replicas_[r].device());
      throw_if_error(work(calls[r].context));
    }
  }

  void share(const std::vector<OpCall>& calls, int64_t size, bool backward) {
    std::vector<DataView> sums;
    for (const OpCall& call : calls) sums.push_back({call.sums[backward ? 1 : 0], size, DType::float64});
    throw_if_error(all_reduce(sums, pass_.how, *pass_.sync_batch_norm, streams_));
  }

  std::span<Replica> replicas_;
  const Pass& pass_;
  size_t loss_ = 0;
  int64_t whole_batch_ = 0;
  std::vector<cudaStream_t> streams_;
};

}  // namespace

void forward(std::span<Replica> replicas, const Pass& pass, const std::function<void(int node)>& after_node) {
  PassRunner(replicas, pass).forward(after_node);
}

void backward(std::span<Replica> replicas, const Pass& pass,
              const std::function<void(int node)>& after_node) {
  PassRunner(replicas, pass).backward(after_node);
}

}  // namespace rondo::nn
