// TrainingSteps: enqueues the steps of a ReplicaGroup. A step loads, goes forward and backward, all-reduces
// the gradients and updates the parameters.
//
// Gradients are reduced in buckets, from the last layer to the first. Each bucket is reduced as soon as its
// gradients are complete, while the layers before it are still going backward. With
// DataParallelOptions::reduce_dtype the bucket is rounded before and widened after its all-reduce, on the
// same streams. A kind of step that is repeated is recorded as a graph over all devices, and then launched
// with one call (recorded_steps.h).
#pragma once

#include <rondo/kernels/runtime/trace.h>
#include <rondo/nn/optim/optimizers.h>
#include <rondo/nn/train/gradient_buckets.h>
#include <rondo/nn/train/phase_timer.h>
#include <rondo/nn/train/recorded_steps.h>
#include <rondo/nn/train/replica_group.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace rondo::nn {

class TrainingSteps {
 public:
  explicit TrainingSteps(ReplicaGroup& group);
  // Waits for the exchange of gradients: after a failure, the streams of the replicas may not wait for it.
  ~TrainingSteps();
  TrainingSteps(const TrainingSteps&) = delete;
  TrainingSteps& operator=(const TrainingSteps&) = delete;

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
  void accumulate(int64_t micro_batch);
  void reduce(const GradientBucket& bucket);
  DataView round(VectorView<const float> gradients, size_t rank);
  void widen(VectorView<float> gradients, size_t rank);
  void update(int64_t batch, Optimizer& optimizer);
  PhaseTimer& timer(int64_t batch) { return batch == options_.batch ? whole_ : partial_; }

  ReplicaGroup& group_;
  const DataParallelOptions& options_;
  StreamGroup exchange_;  // the streams of the gradients' all-reduce
  std::vector<GradientBucket> buckets_;
  std::vector<Event> ready_, reduced_;  // of each replica: a bucket is complete; all buckets are reduced
  std::unique_ptr<Communicator> gradient_communicator_;  // null where nothing is exchanged
  std::vector<Buffer<__nv_bfloat16>> rounded_;  // of each replica: the bucket in exchange, if in bfloat16
  std::vector<Buffer<float>> accumulated_;  // gradients of the micro-batches so far, where there are several
  PhaseTimer whole_, partial_;              // of steps on whole batches, and of all others
  bool timed_ = false;                      // there was a step on a whole batch
  RecordedSteps recorded_;
  Trace* trace_ = nullptr;
  Status failure_;
};

}  // namespace rondo::nn
