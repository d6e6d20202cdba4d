// Batch normalisation, as a layer.
#pragma once

#include <rondo/nn/layers/module.h>

namespace rondo::nn {

// y = gamma * (x - mean) / sqrt(variance + eps) + beta, over batch and positions of each channel
//
// In training with the statistics of the batch: of each replica's shard, or of the whole batch where the replicas share
// theirs (Replicas' choice). In evaluation with the running ones, which follow PyTorch: new = 0.9 old + 0.1 batch, with the
// unbiased variance. Parameters "weight" (gamma, begins as 1) and "bias" (beta, 0); states "running_mean" (0) and
// "running_var" (1).
class BatchNorm2d : public Module {
 public:
  struct Options {
    float eps = 1e-5f;
    float momentum = 0.1f;
  };
  BatchNorm2d() : BatchNorm2d(Options{}) {}
  explicit BatchNorm2d(Options options) : options_(options) {}
  Value build(Graph& graph, Value x) const override;

 private:
  Options options_;
};

}  // namespace rondo::nn
