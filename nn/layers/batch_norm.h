// Batch normalisation, as a layer.
#pragma once

#include <rondo/nn/layers/module.h>

namespace rondo::nn {

// y = gamma * (x - mean) / sqrt(variance + eps) + beta, per channel, over all samples and positions
//
// Training uses the statistics of the replica's shard or, with Pass::sync_batch_norm, of the whole batch.
// Evaluation uses the running statistics, which follow PyTorch: new = 0.9 old + 0.1 batch, with the unbiased
// variance. Parameters (initial value): "weight" gamma (1), "bias" beta (0). States: "running_mean" (0),
// "running_var" (1).
class BatchNorm2d : public Module {
 public:
  struct Options {
    float eps = 1e-5f;
    float momentum = 0.1f;
    bool affine = true;  // with the parameters gamma and beta; otherwise 1 and 0
  };
  BatchNorm2d() : BatchNorm2d(Options{}) {}
  explicit BatchNorm2d(Options options) : options_(options) {}
  Value build(Graph& graph, Value x) const override;

 private:
  Options options_;
};

}  // namespace rondo::nn
