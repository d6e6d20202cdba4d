// Networks of a few layers, and helpers for tests of training.
#pragma once

#include <rondo/nn/layers/batch_norm.h>
#include <rondo/nn/layers/conv2d.h>
#include <rondo/nn/layers/linear.h>
#include <rondo/nn/layers/simple.h>
#include <rondo/nn/train/data_parallel.h>
#include <rondo/tests/nn/train/spread.h>
#include <rondo/tests/support/inputs.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

namespace rondo::test {

// Has most kinds of layers; 4 outputs.
inline nn::AnyModule small_network(const nn::BatchNorm2d::Options& norm = {}) {
  using namespace nn;
  return Sequential{Conv2d(6, 3, {.padding = 1}),
                    BatchNorm2d(norm),
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

// Adam, or SGD with momentum.
inline std::unique_ptr<nn::Optimizer> make_optimizer(nn::DataParallel& model, bool adam, float rate = 0.05f) {
  if (adam) return std::make_unique<nn::Adam>(model);
  return std::make_unique<nn::Sgd>(model, nn::Sgd::Options{.learning_rate = rate, .momentum = 0.9f});
}

// A step for each of these batch sizes, on drawn samples of kSmallInput.
inline void take_steps(nn::DataParallel& model, nn::Optimizer& optimizer,
                       std::initializer_list<int64_t> batches) {
  uint64_t seed = 1;
  for (const int64_t batch : batches)
    model.train_step(normal_values(batch * kSmallInput.size(), ++seed), some_labels(batch, 4), optimizer);
}

// Values of a replica, after all steps.
inline std::vector<float> values_of(nn::DataParallel& model, VectorView<const float> values) {
  model.streams().synchronize();
  std::vector<float> host(static_cast<size_t>(values.size));
  RONDO_CUDA_THROW(cudaMemcpy(host.data(), values.data, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
  return host;
}
inline std::vector<float> parameters_of(nn::DataParallel& model, size_t rank = 0) {
  return values_of(model, model.replicas()[rank].parameters());
}
inline std::vector<float> gradients_of(nn::DataParallel& model, size_t rank = 0) {
  return values_of(model, model.replicas()[rank].gradients());
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
