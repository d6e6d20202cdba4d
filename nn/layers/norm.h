// Normalisations of single samples, as layers: their statistics do not depend on the other samples of the
// batch, and are the same in training and evaluation.
#pragma once

#include <rondo/nn/layers/module.h>

namespace rondo::nn {

struct NormOptions {
  float eps = 1e-5f;   // in [0, 1)
  bool affine = true;  // with the parameters gamma and beta
};

// y = gamma * (x - mean) / sqrt(variance + eps) + beta, with the mean and the variance over the channels of
// each position: PyTorch's LayerNorm of the last side. Parameters (initial value): "weight" gamma (1), "bias"
// beta (0); one value a channel.
class LayerNorm : public Module {
 public:
  explicit LayerNorm(NormOptions options = {}) : options_(options) {}
  Value build(Graph& graph, Value x) const override;

 private:
  NormOptions options_;
};

// y = gamma * x / sqrt(mean of x^2 + eps), with the mean over the channels of each position. Parameter:
// "weight" gamma (1); one value a channel.
class RMSNorm : public Module {
 public:
  explicit RMSNorm(NormOptions options = {}) : options_(options) {}
  Value build(Graph& graph, Value x) const override;

 private:
  NormOptions options_;
};

// y = gamma * (x - mean) / sqrt(variance + eps) + beta, with the mean and the variance over all positions of
// each of `groups` groups of neighbouring channels. A group for each channel is instance normalisation.
// Parameters: those of LayerNorm.
class GroupNorm : public Module {
 public:
  explicit GroupNorm(int64_t groups, NormOptions options = {}) : groups_(groups), options_(options) {}
  Value build(Graph& graph, Value x) const override;

 private:
  int64_t groups_;
  NormOptions options_;
};

}  // namespace rondo::nn
