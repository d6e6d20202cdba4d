// TrainingStep: one step of data-parallel training: load, forward, loss, backward, all-reduce of the
// gradients, update. enqueue() in training_step.cpp is the step from top to bottom; gradient_exchange.h is
// the all-reduce.
//
// A kind of step that is repeated is recorded as a graph over all devices, and then launched with one call
// (recorded_steps.h).
#pragma once

#include <rondo/nn/data/batch_iterator.h>
#include <rondo/nn/optim/optimizers.h>
#include <rondo/nn/train/gradient_exchange.h>
#include <rondo/nn/train/phase_timer.h>
#include <rondo/nn/train/recorded_steps.h>

#include <cstdint>

namespace rondo::nn {

class TrainingStep {
 public:
  // The group must outlive this.
  explicit TrainingStep(ReplicaGroup& group);

  // One step on the iterator's next batch. Throws rondo::Error: bad_argument, with no effect, for an
  // optimizer of another model; after any other failure the replicas may differ, and every later step is
  // refused with the first reason.
  void take(BatchIterator& batches, Optimizer& optimizer);
  void check(const Optimizer& optimizer) const;
  // The failure of the first step that failed.
  const Status& failure() const { return failure_; }

  PhaseSeconds phases() const;
  void set_trace(Trace* trace);
  const Status& graph_refusal() const { return recorded_.refusal(); }

 private:
  void enqueue(BatchIterator& batches, int64_t batch, Optimizer& optimizer);

  ReplicaGroup& group_;
  const DataParallelOptions& options_;
  GradientExchange exchange_;
  PhaseTimer whole_, partial_;  // of steps on whole batches, and of all others
  bool timed_ = false;          // there was a step on a whole batch
  RecordedSteps recorded_;
  Trace* trace_ = nullptr;
  Status failure_;
};

}  // namespace rondo::nn
