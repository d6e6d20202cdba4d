// LeNet on Fashion-MNIST, trained data-parallel from scratch. The implementation, lenet_from_scratch.cpp, is
// the lesson of the project: it calls the kernels directly. nn::DataParallel trains the same network and adds
// checkpoints, several processes and other optimizers. Both compute the same bits where the all-reduce adds
// in the same order (Algorithm::direct).
#pragma once

#include <rondo/collectives/algorithm.h>
#include <rondo/nn/data/fashion_mnist.h>
#include <rondo/nn/lenet_replica.h>
#include <rondo/nn/train/training_report.h>

#include <cstdint>
#include <span>
#include <vector>

namespace rondo::lenet {

// Callbacks of train(), called by the training thread.
class Observer {
 public:
  virtual ~Observer() = default;
  // A step was enqueued; the epoch has `samples` samples so far. The step is complete when stream 0 is.
  virtual void after_step(int64_t /*epoch*/, int64_t /*samples*/, std::span<const Replica>) {}
  virtual void after_epoch(const EpochReport&) {}
};

struct Result {
  std::vector<EpochReport> epochs;  // phases stays empty
  std::vector<float> parameters;    // rank 0's parameter arena after training
  Status graph_refusal;             // why steps were not launched as graphs; ok if they were
};

// Throws rondo::Error: bad_argument for an invalid option, out_of_resources, device_failed.
Result train(const FashionMnist& data, const Options& options, Observer& observer);

}  // namespace rondo::lenet
