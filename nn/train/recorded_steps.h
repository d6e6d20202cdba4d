// RecordedSteps: training steps as graphs, one for each kind of step that comes again.
#pragma once

#include <rondo/nn/train/step_graph.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace rondo::nn {

// Everything that a step's kernels and their arguments depend on.
struct StepKind {
  int64_t batch;
  uint64_t source, optimizer;  // Unique::id()
  int loss;
  bool operator==(const StepKind&) const = default;
};

class RecordedSteps {
 public:
  // Runs one step, on the streams of `group`, in the order of each of them; stream 0 is then behind all of
  // it. The first step of a kind is enqueued as it is, call by call: many kinds come once. The second one is
  // recorded, and it and all others are launched as one graph. The kinds that have not been seen for longest
  // are forgotten. `enqueue` is kept as long as its kind comes again.
  void run(const StepKind& kind, StreamGroup& group, const std::function<void()>& enqueue);

  // Why the steps are not run as graphs (StepGraph::refusal()); ok where they are.
  const Status& refusal() const { return refusal_; }

 private:
  static constexpr size_t kMost = 6;
  struct Seen {
    StepKind kind;
    std::unique_ptr<StepGraph> graph;
  };
  std::vector<Seen> seen_;  // the one seen last comes last
  Status refusal_;
};

}  // namespace rondo::nn
