// MemoryPlan: the offset of each activation and gradient in one flat arena, for one graph and batch size.
//
// A step is a list of schedule entries (schedule.h). A tensor is live from the entry that writes it to the
// last entry that reads it. A recomputed value has two such lifetimes, each with its own offset. Two tensors
// may share memory if their lifetimes do not overlap. The planner places tensors from the largest to the
// smallest, each at the lowest offset that is free for its whole lifetime. In practice the result is within a
// few per cent of the minimum.
#pragma once

#include <rondo/nn/graph/graph.h>
#include <rondo/nn/graph/schedule.h>

#include <cstdint>
#include <vector>

namespace rondo::nn {

// Offsets are in floats (4 bytes, whatever the type of the tensor) from the beginning of the arena. kNowhere:
// no memory.
constexpr int64_t kNowhere = -1;

// A schedule entry, and the offsets of its operation's tensors. Tensors that backward does not read
// (Op::saves()) have kNowhere.
struct Step {
  ScheduleEntry entry;
  std::vector<int64_t> inputs;
  int64_t output = kNowhere;
  int64_t output_gradient = kNowhere;
  int64_t saved = kNowhere;  // Op::saved_floats()
  // Backward, for each input: input_gradients is where its gradient is written. added_to is where that
  // gradient is then added; kNowhere for the first gradient of a value.
  std::vector<int64_t> input_gradients, added_to;
};

struct MemoryPlan {
  std::vector<Step> steps;
  int64_t input = kNowhere, input_gradient = kNowhere;
  int64_t output = kNowhere, output_gradient = kNowhere;
  int64_t size = 0;     // of the arena, in floats
  int64_t tensors = 0;  // sum of all tensor sizes in floats: the arena's size without reuse
};

struct PlanOptions {
  bool input_gradient = false;  // also compute the gradient with respect to the network's input
  // Activation checkpointing. 0: keep all values. k > 0: of each segment of k operations, keep only the
  // values that other segments use, and run the segment's forward again before its backward. Uses less memory
  // and up to a third more arithmetic; the results are the same bit for bit.
  int64_t checkpoint_layers = 0;
};

// Throw a bad_argument Error for a negative batch or checkpoint_layers. plan_training() also throws if the
// result of an operation is unused. Both throw an out_of_resources Error for more than kMostArena floats.
MemoryPlan plan_training(const Graph& graph, int64_t batch, const PlanOptions& options = {});
MemoryPlan plan_inference(const Graph& graph, int64_t batch);

}  // namespace rondo::nn
