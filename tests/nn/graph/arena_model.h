// ArenaModel: replays a memory plan on an arena that records which tensor each cell holds.
//
// It does not use the planner's lifetimes. If an operation does not find a tensor it reads, the plan is
// wrong.
#pragma once

#include <gtest/gtest.h>

#include <rondo/nn/graph/memory_plan.h>

#include <algorithm>
#include <vector>

namespace rondo::test {

class ArenaModel {
 public:
  ArenaModel(const nn::Graph& graph, int64_t batch, const nn::MemoryPlan& plan)
      : graph_(graph), batch_(batch), plan_(plan), cells_(static_cast<size_t>(plan.size / kCell), kNothing) {}

  // Checks a whole training step: each operation once forward in order, once backward in reverse, and any
  // number of recomputations in between. If `wanted`, the input's gradient must exist at the end.
  testing::AssertionResult plays(bool wanted) {
    const int nodes = static_cast<int>(graph_.nodes().size()), result = graph_.resolved(graph_.output().id);
    int next = 0;
    write(plan_.input, value(0), "the input");
    for (const nn::Step& step : plan_.steps) {
      now_ = &step - plan_.steps.data();
      switch (step.entry.kind) {
        case Kind::forward:
          expect(step.entry.node == next++, "an operation out of order");
          forward(step);
          break;
        case Kind::loss:
          expect(next == nodes, "the result is read before the last operation");
          expect_there(plan_.output, value(result), "the result");
          write(plan_.output_gradient, gradient(result), "the result's gradient");
          expect_there(plan_.output, value(result), "the result beside its gradient");
          break;
        case Kind::recompute:
          forward(step);
          break;
        case Kind::backward:
          expect(step.entry.node == --next, "an operation backward out of order");
          backward(step, wanted);
          break;
      }
      if (!wrong_.empty()) return testing::AssertionFailure() << wrong_;
    }
    expect(next == 0, "an operation does not go backward");
    if (wanted) expect_there(plan_.input_gradient, gradient(0), "the input's gradient");
    if (!wrong_.empty()) return testing::AssertionFailure() << wrong_;
    return testing::AssertionSuccess();
  }

 private:
  using Kind = nn::ScheduleEntry::Kind;

  // Contents of a cell: a value, its gradient, or a contribution to a gradient.
  struct Tensor {
    int number, value;
    bool operator==(const Tensor& other) const { return number == other.number; }
  };
  static constexpr int kNothing = -1;
  static constexpr int64_t kCell = 64;  // floats

  static Tensor value(int id) { return {3 * id, id}; }
  static Tensor gradient(int id) { return {3 * id + 1, id}; }
  static Tensor contribution(int id) { return {3 * id + 2, id}; }
  int saved(int node) const { return 3 * static_cast<int>(graph_.values().size()) + node; }

  void expect(bool right, const std::string& what) {
    if (!right && wrong_.empty()) wrong_ = concat("step ", now_, ": ", what);
  }

  std::span<int> cells(int64_t place, const Tensor& tensor, const char* what) {
    const nn::Graph::ValueInfo& info = graph_.values()[static_cast<size_t>(tensor.value)];
    const int64_t values = batch_ * info.shape.size();
    return cells(place, info.type == DType::bfloat16 ? values / 2 + values % 2 : values, what);
  }
  std::span<int> cells(int64_t place, int64_t floats, const char* what) {
    const int64_t begin = place / kCell, size = (floats + kCell - 1) / kCell;
    if (place < 0 || place % kCell != 0 || begin + size > static_cast<int64_t>(cells_.size())) {
      expect(false, concat(what, " is at ", place, ", not in the arena"));
      return {};
    }
    return std::span(cells_).subspan(static_cast<size_t>(begin), static_cast<size_t>(size));
  }
  void write(int64_t place, const Tensor& tensor, const char* what) {
    std::ranges::fill(cells(place, tensor, what), tensor.number);
  }
  void expect_there(int64_t place, const Tensor& tensor, const char* what) {
    for (int cell : cells(place, tensor, what))
      if (cell != tensor.number) expect(false, concat(what, ", value ", tensor.value, ", is not at ", place));
  }

  // What forward leaves for backward besides values.
  std::span<int> saved_cells(const nn::Step& step) {
    const int64_t floats = batch_ * node_of(step).op->saved_floats();
    expect((step.saved == nn::kNowhere) == (floats == 0), "a place without saved floats, or none for some");
    if (step.saved == nn::kNowhere) return {};
    return cells(step.saved, floats, "what is saved");
  }
  void expect_saved(const nn::Step& step, const char* when) {
    for (const int cell : saved_cells(step))
      if (cell != saved(step.entry.node)) expect(false, concat("what is saved is not there ", when));
  }

  const nn::Graph::Node& node_of(const nn::Step& step) const {
    return graph_.nodes()[static_cast<size_t>(step.entry.node)];
  }

  void forward(const nn::Step& step) {
    const nn::Graph::Node& node = node_of(step);
    const auto expect_inputs = [&] {
      for (size_t i = 0; i < node.inputs.size(); ++i)
        expect_there(step.inputs[i], value(graph_.resolved(node.inputs[i])), "an input");
    };
    expect_inputs();
    write(step.output, value(node.output), "the output");
    std::ranges::fill(saved_cells(step), saved(step.entry.node));
    expect_inputs();
    expect_there(step.output, value(node.output), "the output");
  }

  void backward(const nn::Step& step, bool wanted) {
    const nn::Graph::Node& node = node_of(step);
    const nn::Saves saves = node.op->saves();
    const auto expect_all_read = [&] {
      if (saves.output) expect_there(step.output, value(node.output), "the output");
      for (size_t i = 0; saves.inputs && i < node.inputs.size(); ++i)
        expect_there(step.inputs[i], value(graph_.resolved(node.inputs[i])), "an input");
      expect_there(step.output_gradient, gradient(node.output), "the output's gradient");
      expect_saved(step, "in backward");
    };
    expect_all_read();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int id = graph_.resolved(node.inputs[i]);
      if (id == 0 && !wanted) continue;
      const bool added = step.added_to[i] != nn::kNowhere;
      if (added) expect_there(step.added_to[i], gradient(id), "a gradient that is added to");
      write(step.input_gradients[i], added ? contribution(id) : gradient(id), "an input's gradient");
      if (added) expect_there(step.added_to[i], gradient(id), "a gradient beside what is added to it");
    }
    expect_all_read();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int id = graph_.resolved(node.inputs[i]);
      if (id == 0 && !wanted) continue;
      const bool added = step.added_to[i] != nn::kNowhere;
      expect_there(step.input_gradients[i], added ? contribution(id) : gradient(id), "an input's gradient");
    }
    std::ranges::fill(cells(step.output_gradient, gradient(node.output), "the output's gradient"), kNothing);
  }

  const nn::Graph& graph_;
  int64_t batch_;
  const nn::MemoryPlan& plan_;
  std::vector<int> cells_;
  int64_t now_ = -1;  // index of the current step
  std::string wrong_;
};

}  // namespace rondo::test
