// Networks of a few layers, and helpers for tests of training.
#pragma once

#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/train/data_parallel.h>
#include <rondo/nn/layers/batch_norm.h>
#include <rondo/nn/layers/conv2d.h>
#include <rondo/nn/layers/linear.h>
#include <rondo/nn/layers/simple.h>
#include <rondo/tests/support/inputs.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace rondo::test {

// Has most kinds of layers; 4 outputs.
inline nn::AnyModule small_network() {
  using namespace nn;
  return Sequential{Conv2d(6, 3, {.padding = 1}),
                    BatchNorm2d(),
                    ReLU(),
                    Residual(Sequential{Conv2d(6, 3, {.padding = 1}), BatchNorm2d()}),
                    MaxPool2d(2),
                    Flatten(),
                    Dropout(0.2f),
                    Linear(16),
                    ReLU(),
                    Linear(4)};
}
inline constexpr nn::Shape kSmallInput = {8, 8, 1};

// Spreads ranks over the available devices, round robin.
inline std::vector<int> spread(int ranks) {
  std::vector<int> devices;
  for (int rank = 0; rank < ranks; ++rank) devices.push_back(rank % device_count());
  return devices;
}

// Batches of 12, and several gradient buckets.
inline nn::DataParallelOptions small_options(int ranks) {
  return {.devices = spread(ranks), .batch = 12, .seed = 5, .bucket_bytes = 2000};
}

inline std::vector<int32_t> some_labels(int64_t count, int64_t classes) {
  Random random(77);
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < count; ++i) labels.push_back(static_cast<int32_t>(random.below(classes)));
  return labels;
}

// Rank 0's parameters, after all steps.
inline std::vector<float> parameters_of(nn::DataParallel& model) {
  model.streams().synchronize();
  nn::Replica& replica = model.replicas()[0];
  std::vector<float> values(static_cast<size_t>(replica.parameters().size));
  RONDO_CUDA_THROW(cudaMemcpy(values.data(), replica.parameters().data, values.size() * sizeof(float),
                              cudaMemcpyDeviceToHost));
  return values;
}

// Distance of a and b relative to b, both as vectors.
inline double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double error = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    error += std::pow(double{a[i]} - b[i], 2);
    size += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(error / size);
}

}  // namespace rondo::test
