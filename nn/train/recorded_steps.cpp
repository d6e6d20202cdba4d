#include <rondo/nn/train/recorded_steps.h>

#include <algorithm>

namespace rondo::nn {

void RecordedSteps::run(const StepKind& kind, StreamGroup& group, const std::function<void()>& enqueue) {
  const auto found = std::find_if(seen_.begin(), seen_.end(), [&](const Seen& s) { return s.kind == kind; });
  if (found == seen_.end()) {
    group.fork();
    enqueue();
    group.join();
    if (seen_.size() == kMost) {
      group.synchronize();  // the dropped graph may still run
      seen_.erase(seen_.begin());
    }
    seen_.push_back({kind, nullptr});
    return;
  }
  std::rotate(found, found + 1, seen_.end());
  Seen& seen = seen_.back();
  if (!seen.graph) seen.graph = std::make_unique<StepGraph>(group, enqueue, processes_);
  group.join();
  seen.graph->launch();
  if (refusal_.ok()) refusal_ = seen.graph->refusal();
  group.fork();
}

}  // namespace rondo::nn
