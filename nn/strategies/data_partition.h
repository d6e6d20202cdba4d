// DataPartition: data parallelism as a Strategy. It uses nn/train/data_parallel.h with plain SGD. The lesson
// on data parallelism is nn/lenet_from_scratch.cpp.
#pragma once

#include <rondo/nn/optim/optimizers.h>
#include <rondo/nn/strategies/strategy.h>
#include <rondo/nn/train/data_parallel.h>

namespace rondo::nn {

class DataPartition : public Strategy {
 public:
  // One replica per device. Throws rondo::Error.
  DataPartition(const AnyModule& network, Shape input, const StrategyOptions& options);

  void train_step(const Batch& batch) override;
  LossStats take_loss_stats() override { return model_.take_loss_stats(); }
  std::vector<float> parameters() override { return parameters_of(model_.replicas()[0]); }
  // DataParallel does not expose its buffers. Their size is measured with cudaMemGetInfo(), minus the
  // replicas' memory. The first step allocates some of them. A GPU allocates in large units, so the figure is
  // rounded up there.
  std::vector<RankMemory> memory() const override { return memory_; }
  // Computed from the all-reduce's contract: with every algorithm, n ranks together send 2 (n - 1) S bytes
  // for S bytes of gradients.
  int64_t sent_bytes() const override { return sent_bytes_; }

 private:
  // Bytes in use on each rank's device.
  static std::vector<int64_t> used(const std::vector<int>& devices);
  // Adds the growth in used memory since `used_before` to the ranks' buffers.
  void count_buffers(const std::vector<int64_t>& used_before);

  StrategyOptions options_;
  std::vector<int64_t> used_before_;
  DataParallel model_;
  Sgd sgd_;
  std::vector<RankMemory> memory_;
  int64_t sent_bytes_ = 0;
};

}  // namespace rondo::nn
