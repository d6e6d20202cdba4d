// Inference and evaluation with the replicas of a model. DataParallel has the same as members.
#pragma once

#include <rondo/nn/train/replica_group.h>

#include <cstdint>
#include <span>
#include <vector>

namespace rondo::nn {

class DeviceImages;

// The network's outputs for any number of samples, in their order. Each process computes all of them. Waits.
// Throws rondo::Error.
std::vector<float> predict(ReplicaGroup& group, std::span<const float> x);

// Losses and correct predictions, over any number of samples; the samples are split over all ranks. The loss
// statistics of training are kept. Waits. Throws rondo::Error: bad_argument for labels out of range.
LossStats evaluate(ReplicaGroup& group, std::span<const float> x, std::span<const int32_t> labels);
LossStats evaluate(ReplicaGroup& group, const DeviceImages& images);

}  // namespace rondo::nn
