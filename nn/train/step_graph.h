// StepGraph: a training step over all devices, recorded once and replayed with one call.
//
// A step of a small network is about thirty kernels per device, each a few microseconds long: the host would
// need longer to launch them than the devices to run them. As one graph over all streams of a group, the step
// is one launch, and nothing in it waits for the host.
#pragma once

#include <rondo/collectives/across_hosts/process_group.h>
#include <rondo/nn/train/stream_group.h>

#include <functional>

namespace rondo {

class StepGraph {
 public:
  // Records the work that `enqueue` puts on the group's streams, without running it. `enqueue` must use only
  // these streams, and only operations that can be captured (no allocation, no synchronisation). It is kept,
  // and everything it refers to must stay valid: if a call of `enqueue` cannot be recorded, or CUDA cannot
  // instantiate the graph, upload it, or launch it for the first time, launch() calls `enqueue` instead. (A
  // graph needs memory that a step without it does not need, and CUDA does not document whether copies
  // between devices without peer access work inside a graph.)
  //
  // `processes`: those that make the step together, or null. All of them construct their StepGraph at the
  // same time, and launch it for the first time at the same time. If one of them cannot replay it, none does.
  // A process whose first launch fails enqueues this step call by call, while the others replay it. From the
  // next launch on, all processes call `enqueue`.
  StepGraph(StreamGroup& group, std::function<void()> enqueue, ProcessGroup* processes = nullptr);
  ~StepGraph();
  StepGraph(StepGraph&& other) noexcept;
  StepGraph& operator=(StepGraph&&) = delete;

  // Enqueues one replay on the group's stream 0. Use the group's join() before and fork() after it to order
  // it with work on the other streams.
  void launch();

  // Why launch() calls `enqueue` instead of replaying the graph; ok if it replays.
  const Status& refusal() const { return refusal_; }

 private:
  Status record();
  void refuse(Status status);
  void launch_first();
  void enqueue_calls();

  StreamGroup& group_;
  std::function<void()> enqueue_;
  ProcessGroup* processes_;
  cudaGraphExec_t executable_ = nullptr;
  uint64_t first_tag_ = 0;  // of the recorded calls across processes
  bool launched_ = false;
  Status refusal_;
};

}  // namespace rondo
