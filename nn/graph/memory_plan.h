// MemoryPlan: where each activation and each gradient lies in one flat arena, made once for a graph and a batch.
//
// A step is a line of moments (schedule.h). Each tensor is needed from the moment that writes it to the last one that
// reads it; a value that is recomputed has two such lives, and a place for each. Two tensors may lie in the same place
// when their lives don't meet. Tensors are placed from the largest to the smallest, each at the lowest place that is free
// for its whole life: simple, and in practice within a few per cent of the least possible.
#pragma once

#include <rondo/nn/graph/graph.h>
#include <rondo/nn/graph/schedule.h>

#include <cstdint>
#include <vector>

namespace rondo::nn {

// Places are in floats from the arena's beginning.
constexpr int64_t kNowhere = -1;

// A moment, and where its operation finds what it works on. What backward does not read (Op::saves()) is nowhere.
struct Step {
  ScheduleEntry entry;
  std::vector<int64_t> inputs;
  int64_t output = kNowhere;
  int64_t output_gradient = kNowhere;
  // Backward, of each input: where its gradient is written, and where that is then added to: nowhere, if it was the first
  // to be written.
  std::vector<int64_t> input_gradients, added_to;
};

struct MemoryPlan {
  std::vector<Step> steps;
  int64_t input = kNowhere, input_gradient = kNowhere;
  int64_t output = kNowhere, output_gradient = kNowhere;
  int64_t size = 0;     // of the arena, in floats
  int64_t tensors = 0;  // the sum of all tensors' sizes: what the arena would take without reuse
};

struct PlanOptions {
  bool input_gradient = false;  // also make the gradient with respect to the network's input
  // k > 0: of each k operations only what others use outlives them; they run forward once more before they go backward.
  // Less memory for a third more arithmetic, and the same results bit for bit. 0: nothing is computed twice.
  int64_t checkpoint_layers = 0;
};

// Throw a bad_argument Error for a negative batch or checkpoint_layers, and where training has an operation whose result
// nobody uses.
MemoryPlan plan_training(const Graph& graph, int64_t batch, const PlanOptions& options = {});
MemoryPlan plan_inference(const Graph& graph, int64_t batch);

}  // namespace rondo::nn
