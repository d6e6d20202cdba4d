// Batch normalisation, as a layer.
#pragma once

#include <rondo/nn/layers/module.h>

#include <optional>

namespace rondo::nn {

// y = gamma * (x - mean) / sqrt(variance + eps) + beta, per channel, over all samples and positions
//
// Training uses the statistics of the replica's shard or, with Pass::sync_batch_norm, of the whole batch.
// Evaluation uses the running statistics, which follow PyTorch: new = 0.9 old + 0.1 batch, with the unbiased
// variance. Without a momentum (nullopt, PyTorch's None) they are the plain averages over all batches so far.
// Their number is in device memory, so that a recorded step counts, too. A micro-batch counts as a batch; an
// empty one does not. Parameters (initial value): "weight" gamma (1), "bias" beta (0). States: "running_mean"
// (0), "running_var" (1), without a momentum also "num_batches_tracked" (0).
class BatchNorm2d : public Module {
 public:
  struct Options {
    float eps = 1e-5f;
    std::optional<float> momentum = 0.1f;
    bool affine = true;  // with the parameters gamma and beta; otherwise 1 and 0
  };
  BatchNorm2d() : BatchNorm2d(Options{}) {}
  explicit BatchNorm2d(Options options) : options_(options) {}
  Value build(Graph& graph, Value x) const override;

 private:
  Options options_;
};

}  // namespace rondo::nn
