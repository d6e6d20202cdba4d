// fit: trains a model on images for some epochs. What it does is in the loop of fit.cpp, and anybody may write another one.
//
//   nn::DataParallel model(nn::resnet18(), {28, 28, 1}, {.devices = {0, 1}, .batch = 512});
//   nn::Sgd sgd(model);
//   nn::fit(model, sgd, load_fashion_mnist(directory, Checksums::require),
//           {.epochs = 10, .learning_rate = nn::LearningRate::constant(0.2)});
#pragma once

#include <rondo/kernels/runtime/trace.h>
#include <rondo/nn/io/checkpoint.h>
#include <rondo/nn/train/data_parallel.h>
#include <rondo/nn/data/fashion_mnist.h>
#include <rondo/nn/optim/learning_rate.h>
#include <rondo/nn/train/training_report.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::nn {

struct FitOptions {
  int64_t epochs = 10;
  uint64_t seed = 0;  // of the samples' order
  LearningRate learning_rate = LearningRate::constant(0.1);
  bool verify = false;  // after every step, compare all replicas bit by bit
  // A checkpoint (checkpoint.h) that is replaced after every epoch, and when the training is stopped; empty: none.
  std::string checkpoint = {};
  // Where the training goes on, as load_checkpoint() returned it; of a training that begins, the first epoch.
  TrainingState from = {.epoch = 1};
};

// Called by the training thread while the devices work.
class FitObserver {
 public:
  virtual ~FitObserver() = default;
  virtual void on_progress(const TrainingProgress&) {}
  // Before the epoch's checkpoint replaces the last one: an exception leaves it.
  virtual void before_save(const EpochReport&) {}
  virtual void on_epoch(const EpochReport&) {}
  // True ends the training after the step.
  virtual bool stop() { return false; }
};

struct FitResult {
  enum class End { done, stopped, diverged };
  End end = End::done;
  std::vector<EpochReport> epochs;  // those that were finished
  int64_t verified_steps = 0;       // with FitOptions::verify: steps after which all replicas were compared
  TrainingState place;              // where it would go on
  std::string nonfinite_tensor;           // diverged: the first tensor that was not finite, where it could be found
  int64_t differing_values = 0;     // ... and how many values differed in any bit, over all of them
};

// Batches are as large as the model's; the last of an epoch is what is left. A training that goes on in the middle of an epoch
// reports of it what is left of it. A model with keep_finite ends with the parameters that it had before the loss was lost. `trace` may be null; if not, the first steps
// are recorded into it. Of several processes (DataParallelOptions::processes) all call fit() with the same
// values; the first writes the checkpoint. Each may see a request to stop, and all end after the same step.
// Throws rondo::Error.
FitResult fit(DataParallel& model, Optimizer& optimizer, const FashionMnist& data, const FitOptions& options,
              FitObserver& observer, Trace* trace = nullptr);
FitResult fit(DataParallel& model, Optimizer& optimizer, const FashionMnist& data, const FitOptions& options);

}  // namespace rondo::nn
