// RecordedSteps: training steps as CUDA graphs, one for each kind of step that repeats.
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
  uint64_t source = 0, optimizer = 0;  // Unique::id()
  int loss = 0;
  bool operator==(const StepKind&) const = default;
};

class RecordedSteps {
 public:
  // `processes`: those that take the steps together, or null (StepGraph).
  explicit RecordedSteps(ProcessGroup* processes = nullptr) : processes_(processes) {}

  // Runs one step on the streams of `group`, in order on each of them. Afterwards stream 0 waits for all of
  // the step. The first step of a kind is enqueued call by call: many kinds occur only once, and drivers
  // before CUDA 12.3 must load a kernel before it is recorded. The second one is recorded, and it and all
  // later ones are launched as one graph. The least recently used kinds are dropped. `enqueue` may be kept
  // until its kind is dropped.
  void run(const StepKind& kind, StreamGroup& group, const std::function<void()>& enqueue);

  // Why the steps are not run as graphs (StepGraph::refusal()); ok if they are.
  const Status& refusal() const { return refusal_; }

 private:
  static constexpr size_t kMost = 6;
  struct Seen {
    StepKind kind;
    std::unique_ptr<StepGraph> graph;
  };
  ProcessGroup* processes_;
  std::vector<Seen> seen_;  // least recently used first
  Status refusal_;
};

}  // namespace rondo::nn
