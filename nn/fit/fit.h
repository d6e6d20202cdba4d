// fit: trains a model on labelled images for a number of epochs. For another training loop, start from
// fit.cpp.
//
//   nn::DataParallel model(nn::resnet18(), {28, 28, 1}, {.devices = {0, 1}, .batch = 512});
//   nn::Sgd sgd(model);
//   nn::fit(model, sgd, load_fashion_mnist(directory, Checksums::require),
//           {.epochs = 10, .learning_rate = nn::LearningRate::constant(0.2)});
//
// Other images: nn::DataSet{train, test} of nn/data/image_set.h.
#pragma once

#include <rondo/kernels/runtime/trace.h>
#include <rondo/nn/checkpoint/checkpoint.h>
#include <rondo/nn/data/image_set.h>
#include <rondo/nn/optim/learning_rate.h>
#include <rondo/nn/train/data_parallel.h>
#include <rondo/nn/train/training_report.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::nn {

struct FitOptions {
  int64_t epochs = 10;
  uint64_t seed = 0;  // of the sample order and the augmentation
  LearningRate learning_rate = LearningRate::constant(0.1);
  // Random changes of the training images in each epoch, drawn with `seed`. The test images are not changed.
  Augmentation augmentation = {};
  // Of the training and the test images, such as normalize_of(data.train).
  Normalize normalize = {};
  bool verify = false;  // compare all replicas bit by bit after every step
  // Path of a checkpoint (checkpoint.h), replaced after every epoch and on a stop. Empty: none.
  std::string checkpoint = {};
  // The state to resume from, as returned by load_checkpoint(). A new training begins with epoch 1.
  TrainingState from = {.epoch = 1};
};

// Callbacks of fit(), called by the training thread while the devices work.
class FitObserver {
 public:
  virtual ~FitObserver() = default;
  virtual void on_progress(const TrainingProgress&) {}
  // Called before the epoch's checkpoint replaces the previous one. If it throws, the previous one is kept.
  virtual void before_save(const EpochReport&) {}
  virtual void on_epoch(const EpochReport&) {}
  // Return true to end the training after this step.
  virtual bool stop() { return false; }
};

struct FitResult {
  enum class End { done, stopped, diverged };
  End end = End::done;
  std::vector<EpochReport> epochs;  // completed epochs
  int64_t verified_steps = 0;       // with FitOptions::verify: number of steps whose replicas were compared
  TrainingState state;              // where to resume
  std::string reason;               // diverged: the step, and what was not finite in it
  std::string nonfinite_tensor;     // diverged: the first non-finite tensor, if it was found
  int64_t differing_values = 0;     // with FitOptions::verify: values that differed in any bit
};

// Trains with batches of the model's size; the last batch of an epoch has the remaining samples. When
// resuming in the middle of an epoch, the report of this epoch covers only the remaining steps. The training
// ends with a step whose loss is not finite. With keep_finite it ends with a step whose loss or gradients are
// not finite on any replica, and the model keeps the parameters from before that step. If `trace` is not
// null, the first steps are recorded into it. With several processes (DataParallelOptions::processes), all
// must call fit() with the same values. Process 0 writes the checkpoint. FitObserver::stop() may return true
// in any process; all end after that step. Throws rondo::Error: bad_argument for images that do not fit the
// network (check_images()), for augmentation or normalisation that does not fit them, and for a model with
// keep_finite that an earlier step has stopped; out_of_resources.
FitResult fit(DataParallel& model, Optimizer& optimizer, const DataSet& data, const FitOptions& options,
              FitObserver& observer, Trace* trace = nullptr);
FitResult fit(DataParallel& model, Optimizer& optimizer, const DataSet& data, const FitOptions& options);

}  // namespace rondo::nn
