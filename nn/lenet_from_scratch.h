// LeNet on Fashion-MNIST, trained data-parallel from scratch: the lesson, which calls the kernels directly.
// Read lenet_from_scratch.cpp. nn::DataParallel trains the same network, to the same bits where the
// all-reduce adds in the same order (Algorithm::direct), and has everything that the lesson leaves out:
// checkpoints, several processes, other optimizers.
#pragma once

#include <rondo/collectives/algorithm.h>
#include <rondo/nn/data/fashion_mnist.h>
#include <rondo/nn/lenet_replica.h>
#include <rondo/nn/train/training_report.h>

#include <cstdint>
#include <span>
#include <vector>

namespace rondo::lenet {

// Called by the training thread.
class Observer {
 public:
  virtual ~Observer() = default;
  // A step was enqueued, after which the epoch has taken `samples` samples. It is done when stream 0 is.
  virtual void after_step(int64_t /*epoch*/, int64_t /*samples*/, std::span<const Replica>) {}
  virtual void after_epoch(const EpochReport&) {}
};

struct Result {
  std::vector<EpochReport> epochs;  // without the phases
  std::vector<float> parameters;    // rank 0's arena at the end
};

// Throws rondo::Error: bad_argument when an option makes no sense, out_of_resources, device_failed.
Result train(const FashionMnist& data, const Options& options, Observer& observer);

}  // namespace rondo::lenet
