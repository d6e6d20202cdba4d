#include <rondo/nn/graph/memory_plan.h>

#include <algorithm>

namespace rondo::nn {

namespace {

using Kind = ScheduleEntry::Kind;

// A tensor's size and lifetime, from the first to the last schedule entry, both included.
struct Life {
  int64_t size;
  int first, last;
  int64_t place = kNowhere;
};

constexpr int64_t kAlign = 64;  // 256 bytes, the alignment of cudaMalloc

int64_t aligned(int64_t floats) { return (floats + kAlign - 1) / kAlign * kAlign; }

int64_t floats_of(const Graph::ValueInfo& value, int64_t batch) {
  constexpr int64_t kFloat = sizeof(float);
  return aligned((value.shape.size() * batch * size_of(value.type) + kFloat - 1) / kFloat);
}

// Assigns an offset to every lifetime. Returns the size of the arena.
int64_t place(std::vector<Life>& lives) {
  std::vector<Life*> order;
  for (Life& life : lives) order.push_back(&life);
  std::stable_sort(order.begin(), order.end(), [](const Life* a, const Life* b) {
    return a->size != b->size ? a->size > b->size : a->first < b->first;
  });
  std::vector<const Life*> placed;  // sorted by offset
  int64_t end = 0;
  for (Life* life : order) {
    int64_t at = 0;
    for (const Life* other : placed) {
      if (other->last < life->first || life->last < other->first) continue;
      if (other->place >= at + life->size) break;
      at = std::max(at, other->place + other->size);
    }
    life->place = at;
    end = std::max(end, at + life->size);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), life,
                                   [](const Life* a, const Life* b) { return a->place < b->place; }),
                  life);
  }
  return end;
}

// A result without a reader has no gradient, so its operation cannot go backward.
void check_all_used(const Graph& graph) {
  for (const Graph::Node& node : graph.nodes())
    if (graph.values()[static_cast<size_t>(node.output)].uses.empty() &&
        node.output != graph.resolved(graph.output().id))
      throw Error(bad_argument("memory plan: no operation uses the result of '", node.name, "' (",
                               node.op->description(), "), and it is not the network's output"));
}

// Walks through the schedule. The plan's tensors are indices into lives_ until all lifetimes are known;
// put_in_place() replaces them with offsets.
class Planner {
 public:
  Planner(const Graph& graph, int64_t batch, bool input_gradient)
      : graph_(graph), batch_(batch), input_gradient_(input_gradient) {
    if (batch < 0) throw Error(bad_argument("memory plan: the batch is ", batch, ", must be at least 0"));
    for (const Graph::ValueInfo& value : graph.values())
      checked_product("memory plan: a batch of a tensor",
                      {batch, value.shape.height, value.shape.width, value.shape.channels});
    for (const Graph::Node& node : graph.nodes())
      checked_product("memory plan: what a batch saves for backward", {batch, node.op->saved_floats()});
    values_.assign(graph.values().size(), kNowhere);
    gradients_ = values_;
    saved_.assign(graph.nodes().size(), kNowhere);
  }

  MemoryPlan run(const std::vector<ScheduleEntry>& schedule, bool training) {
    plan_.input = write(values_, input());
    for (const ScheduleEntry& entry : schedule) {
      Step& step = plan_.steps.emplace_back();
      step.entry = entry;
      switch (entry.kind) {
        case Kind::forward:
        case Kind::recompute:
          forward(step);
          break;
        case Kind::loss:
          loss(training);
          break;
        case Kind::backward:
          backward(step);
          break;
      }
      ++now_;
    }
    if (gradients_[0] != kNowhere) {  // the caller reads it after the last entry
      plan_.input_gradient = gradients_[0];
      lives_[static_cast<size_t>(gradients_[0])].last = now_;
    }
    put_in_place();
    return plan_;
  }

 private:
  using Tensors = std::vector<int64_t>;  // for each value, the index of its current lifetime in lives_

  int input() const { return graph_.input().id; }
  int output() const { return graph_.resolved(graph_.output().id); }
  const Graph::Node& node_of(const Step& step) const {
    return graph_.nodes()[static_cast<size_t>(step.entry.node)];
  }
  int64_t begin_life_of(int64_t floats) {
    lives_.push_back({floats, now_, now_});
    return static_cast<int64_t>(lives_.size()) - 1;
  }
  int64_t begin_life(int value) {
    return begin_life_of(floats_of(graph_.values()[static_cast<size_t>(value)], batch_));
  }
  int64_t write(Tensors& tensors, int value) {
    return tensors[static_cast<size_t>(value)] = begin_life(value);
  }
  int64_t read(const Tensors& tensors, int value) {
    const int64_t tensor = tensors[static_cast<size_t>(graph_.resolved(value))];
    lives_[static_cast<size_t>(tensor)].last = now_;
    return tensor;
  }

  void forward(Step& step) {
    const Graph::Node& node = node_of(step);
    for (int value : node.inputs) step.inputs.push_back(read(values_, value));
    step.output = write(values_, node.output);
    if (const int64_t floats = node.op->saved_floats(); floats > 0)
      step.saved = saved_[static_cast<size_t>(step.entry.node)] = begin_life_of(aligned(batch_ * floats));
  }

  void loss(bool training) {
    plan_.output = read(values_, output());
    if (training) plan_.output_gradient = write(gradients_, output());
  }

  void backward(Step& step) {
    const Graph::Node& node = node_of(step);
    const Saves saves = node.op->saves();
    for (int value : node.inputs) step.inputs.push_back(saves.inputs ? read(values_, value) : kNowhere);
    if (saves.output) step.output = read(values_, node.output);
    step.saved = saved_[static_cast<size_t>(step.entry.node)];
    if (step.saved != kNowhere) lives_[static_cast<size_t>(step.saved)].last = now_;
    step.output_gradient = read(gradients_, node.output);
    for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
      const int value = graph_.resolved(node.inputs[static_cast<size_t>(i)]);
      const bool wanted = value != input() || input_gradient_;
      const bool first = graph_.first_writer(value) == Graph::Use{step.entry.node, i};
      step.input_gradients.push_back(!wanted ? kNowhere
                                     : first ? write(gradients_, value)
                                             : begin_life(value));
      step.added_to.push_back(!wanted || first ? kNowhere : read(gradients_, value));
    }
  }

  void put_in_place() {
    for (const Life& life : lives_) {
      plan_.tensors += life.size;  // at least the size of the arena
      check_arena("memory plan: the activations and their gradients", plan_.tensors);
    }
    plan_.size = place(lives_);
    const auto settle = [&](int64_t& tensor) {
      if (tensor != kNowhere) tensor = lives_[static_cast<size_t>(tensor)].place;
    };
    for (int64_t* tensor : {&plan_.input, &plan_.input_gradient, &plan_.output, &plan_.output_gradient})
      settle(*tensor);
    for (Step& step : plan_.steps) {
      settle(step.output);
      settle(step.output_gradient);
      settle(step.saved);
      for (std::vector<int64_t>* tensors : {&step.inputs, &step.input_gradients, &step.added_to})
        for (int64_t& tensor : *tensors) settle(tensor);
    }
  }

  const Graph& graph_;
  int64_t batch_;
  bool input_gradient_;
  int now_ = 0;
  Tensors values_, gradients_;
  std::vector<int64_t> saved_;  // for each node, like Tensors
  std::vector<Life> lives_;
  MemoryPlan plan_;
};

}  // namespace

MemoryPlan plan_training(const Graph& graph, int64_t batch, const PlanOptions& options) {
  check_all_used(graph);
  return Planner(graph, batch, options.input_gradient)
      .run(training_schedule(graph, options.checkpoint_layers), true);
}

MemoryPlan plan_inference(const Graph& graph, int64_t batch) {
  return Planner(graph, batch, false).run(evaluation_schedule(graph), false);
}

}  // namespace rondo::nn
