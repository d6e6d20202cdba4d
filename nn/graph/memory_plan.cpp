#include <rondo/nn/graph/memory_plan.h>

#include <algorithm>
#include <numeric>

namespace rondo::nn {

namespace {

// A tensor and its life, from the first to the last moment, both included.
struct Life {
  int64_t* place;
  int64_t size;
  int first, last;
};

constexpr int64_t kAlign = 64;  // 256 bytes, as the allocator itself aligns

int64_t floats_of(const Shape& shape, int64_t batch) {
  return (shape.size() * batch + kAlign - 1) / kAlign * kAlign;
}

void place(std::vector<Life>& lives, MemoryPlan& plan) {
  std::stable_sort(lives.begin(), lives.end(), [](const Life& a, const Life& b) { return a.size > b.size; });
  std::vector<const Life*> placed;  // sorted by place
  for (Life& life : lives) {
    plan.tensors += life.size;
    int64_t at = 0;
    for (const Life* other : placed) {
      if (other->last < life.first || life.last < other->first) continue;
      if (*other->place >= at + life.size) break;
      at = std::max(at, *other->place + other->size);
    }
    *life.place = at;
    plan.size = std::max(plan.size, at + life.size);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), &life,
                                   [](const Life* a, const Life* b) { return *a->place < *b->place; }),
                  &life);
  }
}

class Planner {
 public:
  Planner(const Graph& graph, int64_t batch, bool training, bool input_gradient)
      : graph_(graph), batch_(batch), training_(training), input_gradient_(input_gradient) {
    plan_.values.assign(graph.values().size(), MemoryPlan::kNone);
    plan_.gradients = plan_.values;
    for (const Graph::Node& node : graph.nodes())
      plan_.contributions.emplace_back(node.inputs.size(), MemoryPlan::kNone);
  }

  MemoryPlan run() {
    for (int value = 0; value < static_cast<int>(graph_.values().size()); ++value) {
      if (info(value).alias_of >= 0) continue;
      add_value(value);
      if (training_ && has_gradient(value)) add_gradient(value);
    }
    place(lives_, plan_);
    for (size_t value = 0; value < plan_.values.size(); ++value) {  // aliases lie where their value lies
      const auto resolved = static_cast<size_t>(graph_.resolved(static_cast<int>(value)));
      plan_.values[value] = plan_.values[resolved];
      plan_.gradients[value] = plan_.gradients[resolved];
    }
    return plan_;
  }

 private:
  const Graph::ValueInfo& info(int value) const { return graph_.values()[static_cast<size_t>(value)]; }
  Saves saves(int node) const { return graph_.nodes()[static_cast<size_t>(node)].op->saves(); }
  int nodes() const { return static_cast<int>(graph_.nodes().size()); }
  int backward(int node) const { return 2 * nodes() - 1 - node; }
  bool has_gradient(int value) const { return info(value).producer >= 0 || input_gradient_; }

  void add_value(int value) {
    const Graph::ValueInfo& v = info(value);
    const int first = std::max(v.producer, 0);
    int last = first;
    for (const Graph::Use& use : v.uses) {
      last = std::max(last, use.node);
      if (training_ && saves(use.node).inputs) last = std::max(last, backward(use.node));
    }
    if (training_ && v.producer >= 0 && saves(v.producer).output) last = std::max(last, backward(v.producer));
    // The network's result is read by whoever runs it, between forward and backward.
    if (value == graph_.resolved(graph_.output().id)) last = std::max(last, nodes());
    lives_.push_back({&plan_.values[static_cast<size_t>(value)], floats_of(v.shape, batch_), first, last});
  }

  void add_gradient(int value) {
    const Graph::ValueInfo& v = info(value);
    const int64_t size = floats_of(v.shape, batch_);
    const int last = v.producer >= 0 ? backward(v.producer) : backward(0);
    // That of the result is written by whoever computes the loss, before the first operation goes backward.
    int first = value == graph_.resolved(graph_.output().id) ? nodes() - 1 : last;
    const Graph::Use writer = graph_.first_writer(value);
    for (const Graph::Use& use : v.uses) {
      const int moment = backward(use.node);
      first = std::min(first, moment);
      if (use == writer) continue;
      int64_t& place = plan_.contributions[static_cast<size_t>(use.node)][static_cast<size_t>(use.input)];
      lives_.push_back({&place, size, moment, moment});
    }
    lives_.push_back({&plan_.gradients[static_cast<size_t>(value)], size, first, last});
  }

  const Graph& graph_;
  int64_t batch_;
  bool training_, input_gradient_;
  MemoryPlan plan_;
  std::vector<Life> lives_;
};

}  // namespace

MemoryPlan plan_training(const Graph& graph, int64_t batch, bool input_gradient) {
  return Planner(graph, batch, true, input_gradient).run();
}

MemoryPlan plan_inference(const Graph& graph, int64_t batch) {
  return Planner(graph, batch, false, false).run();
}

}  // namespace rondo::nn
