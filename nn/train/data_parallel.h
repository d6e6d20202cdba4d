// DataParallel: a network on several devices, used as if it were on one.
//
//   nn::DataParallel model(nn::resnet18(), {28, 28, 1}, {.devices = {0, 1}, .batch = 512});
//   nn::Sgd sgd(model, {.learning_rate = 0.2f});
//   for (...) model.train_step(images, labels, sgd);
//
// Each device holds the whole network. The batch is split, the gradients are summed, and each device takes
// the same step, so the parameters stay equal bit for bit. Except for rounding, the training does not depend
// on the number of devices, unless sync_batch_norm is off or micro_batches > 1 (DataParallelOptions).
// replica_group.h has the replicas, training_step.h the step, nn/diagnostics/model_checks.h the search for a
// NaN.
#pragma once

#include <rondo/nn/data/staged_batch.h>
#include <rondo/nn/train/data_parallel_options.h>
#include <rondo/nn/train/replica_group.h>
#include <rondo/nn/train/training_step.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rondo::nn {

class DeviceImages;

class DataParallel {
 public:
  // Throws rondo::Error: bad_argument, out_of_resources. The destructor waits for the steps.
  DataParallel(const AnyModule& network, Shape input, DataParallelOptions options = {});
  ~DataParallel();

  // One step on a batch in host memory: x holds samples of the input's shape, at most options().batch of
  // them. Minimises the mean over the batch of the softmax cross-entropy with labels[i] in [0, outputs), or
  // of the squared error summed over a sample's outputs. Returns before the step is done. The caller may
  // reuse the memory at once, but pinned memory (cudaMallocHost, cudaHostRegister) only after the step
  // (take_loss_stats() waits for it). It blocks until the step before the last has begun. If about 1000 calls
  // of a stream have not run, it blocks until the device makes progress, and forever if another process never
  // arrives (collectives.h, "Queues"). The optimizer must have been made for this model. Throws rondo::Error:
  // bad_argument, with no effect, for sizes that do not fit and for labels out of range; after any other
  // failure the replicas may differ, and every later step is refused with the first reason.
  void train_step(std::span<const float> x, std::span<const int32_t> labels, Optimizer& optimizer);
  void train_step(std::span<const float> x, std::span<const float> targets, Optimizer& optimizer);
  // One more step on the last batch from the host, which is not copied again.
  void repeat_step(Optimizer& optimizer);
  // One step on the next batch of an iterator over device memory, such as ShuffledBatches.
  void train_step(BatchIterator& batches, Optimizer& optimizer) { step_.take(batches, optimizer); }

  // Losses, correct predictions and samples of the steps since the last call, over all ranks.
  // Blocks until the enqueued steps are done.
  LossStats take_loss_stats() { return group_->take_loss_stats(); }
  // The network's outputs for any number of samples, in their order. Each process computes all of them.
  // Waits. Throws rondo::Error.
  std::vector<float> predict(std::span<const float> x);
  // Losses and correct predictions, over any number of samples; the samples are split over all ranks. The
  // loss statistics of training are kept. Waits. Throws rondo::Error: bad_argument for labels out of range.
  LossStats evaluate(std::span<const float> x, std::span<const int32_t> labels);
  LossStats evaluate(const DeviceImages& images);

  // Throws rondo::Error if a step failed, a device failed, or, with keep_finite, a loss or a
  // gradient was not finite. Blocks until the enqueued steps are done.
  void throw_if_failed();

  int devices() const { return group_->size(); }  // of this process
  const Graph& graph() const { return group_->graph(); }
  const World& world() const { return group_->world(); }
  const DataParallelOptions& options() const { return group_->options(); }
  std::span<Replica> replicas() { return group_->replicas(); }
  // Optimizers and data sets on the devices are made for the replicas: Sgd sgd(model).
  operator std::span<Replica>() { return replicas(); }
  // The replicas' streams. After train_step(), stream 0 is ordered after the whole step.
  StreamGroup& streams() { return group_->streams(); }
  ReplicaGroup& group() { return *group_; }

  // The time of the phases of the last step on a full batch. Zero before the first full batch. Call it after
  // take_loss_stats().
  PhaseSeconds phases() const { return step_.phases(); }
  // While a trace is set, steps are enqueued kernel by kernel, not replayed, and recorded in it. Null: none.
  void set_trace(Trace* trace) { step_.set_trace(trace); }
  // Why steps are not launched as graphs (StepGraph::refusal()); ok if they are.
  const Status& graph_refusal() const { return step_.graph_refusal(); }

 private:
  int64_t batch_of(std::span<const float> x) const;
  template <class Targets>
  void train_step_on(std::span<const float> x, Targets targets, int64_t batch, Optimizer& optimizer);

  std::unique_ptr<ReplicaGroup> group_;  // at a fixed address, for step_
  TrainingStep step_;
  std::unique_ptr<StagedBatch> staged_;  // null before the first batch from the host
};

}  // namespace rondo::nn
