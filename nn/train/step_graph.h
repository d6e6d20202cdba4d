// StepGraph: a training step over all devices, recorded once and replayed with one call.
//
// A step of a small network is some thirty kernels a device, each a few microseconds long: the host would
// spend longer on submitting them than the devices on running them. As one graph over all streams of a group
// the step is one submission, and nothing in it waits for the host.
#pragma once

#include <rondo/nn/train/stream_group.h>

#include <functional>

namespace rondo {

class StepGraph {
 public:
  // Records what `enqueue` puts on the group's streams; nothing runs yet. `enqueue` must only use these
  // streams, and may only do what can be recorded (no allocation, no synchronisation). It is kept, with all
  // that it refers to: where CUDA cannot make the recording executable, or refuses its first launch, launch()
  // calls it instead. (Copies between devices without peer access are not documented to work inside a graph.)
  StepGraph(StreamGroup& group, std::function<void()> enqueue);
  ~StepGraph();
  StepGraph(StepGraph&& other) noexcept;
  StepGraph& operator=(StepGraph&&) = delete;

  // Enqueues one replay on the group's stream 0. Work on the other streams is ordered against it by the
  // group's fork() and join().
  void launch();

  // Why launch() does not replay but enqueues call by call; ok where it replays.
  const Status& refusal() const { return refusal_; }

 private:
  void refuse(cudaError_t error, const char* what);

  StreamGroup& group_;
  std::function<void()> builder_;
  cudaGraphExec_t executable_ = nullptr;
  bool launched_ = false;
  Status refusal_;
};

}  // namespace rondo
