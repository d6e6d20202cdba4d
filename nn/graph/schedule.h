// The line of moments of a training step: which operation runs when. The memory plan and the pass both follow it.
#pragma once

#include <rondo/nn/graph/graph.h>

#include <cstdint>
#include <vector>

namespace rondo::nn {

struct ScheduleEntry {
  enum class Kind {
    forward,
    outside,  // of no operation: whoever runs the network reads its result, and in training writes its gradient
    recompute,  // forward once more, from the same inputs to the same output
    backward,
  };
  Kind kind = Kind::outside;
  int node = -1;
  bool operator==(const ScheduleEntry&) const = default;
};

// Forward of all operations, and the moment in which the result is read.
std::vector<ScheduleEntry> evaluation_schedule(const Graph& graph);

// The same, and then all operations backward in reverse.
//
// With checkpoint_layers = k > 0 (Chen et al., "Training deep nets with sublinear memory cost", 2016) the operations are cut
// into segments of k. A value that is used in its own segment only need not outlive it: before the segment goes backward,
// those of its operations whose result is needed again run forward once more. The last segment goes backward while
// its values are still there. Throws a bad_argument Error for a negative k.
std::vector<ScheduleEntry> training_schedule(const Graph& graph, int64_t checkpoint_layers = 0);

}  // namespace rondo::nn
