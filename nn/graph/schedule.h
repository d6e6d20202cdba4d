// The order of the operations in a step. The memory plan and the pass both follow it.
#pragma once

#include <rondo/nn/graph/graph.h>

#include <cstdint>
#include <vector>

namespace rondo::nn {

struct ScheduleEntry {
  enum class Kind {
    forward,
    loss,       // no operation: the caller reads the output and, in training, writes its gradient
    recompute,  // forward again, with the same inputs and the same output
    backward,
  };
  Kind kind = Kind::loss;
  int node = -1;
  bool operator==(const ScheduleEntry&) const = default;
};

// Forward of all operations, then the entry `loss`.
std::vector<ScheduleEntry> evaluation_schedule(const Graph& graph);

// The same, followed by backward of all operations in reverse order.
//
// checkpoint_layers = k > 0 (Chen et al., "Training deep nets with sublinear memory cost", 2016) splits the
// operations into segments of k. A value that is only used in its own segment is not kept for backward.
// Before a segment goes backward, its operations whose results backward needs run forward again. The last
// segment is not recomputed: its values are still in memory. Throws a bad_argument Error for a negative k.
std::vector<ScheduleEntry> training_schedule(const Graph& graph, int64_t checkpoint_layers = 0);

}  // namespace rondo::nn
