// DataPartition: data parallelism as one of the strategies. It is nn/train/data_parallel.h with the plain step of SGD; the lesson is
// nn/lenet_from_scratch.cpp.
#pragma once

#include <rondo/nn/train/data_parallel.h>
#include <rondo/nn/optim/optimizers.h>
#include <rondo/nn/strategies/strategy.h>

namespace rondo::nn {

class DataPartition : public Strategy {
 public:
  // A replica for each device. Throws rondo::Error.
  DataPartition(const AnyModule& network, Shape input, const StrategyOptions& options);

  void train_step(const Batch& batch) override;
  LossStats take_loss_stats() override { return model_.take_loss_stats(); }
  std::vector<float> parameters() override;
  // DataParallel keeps its buffers to itself: they are what the runtime's own count of free memory says beside the replicas, after
  // the first step, in which it makes some of them. On a GPU it hands out memory in large units, so that figure is rounded up there.
  std::vector<RankMemory> memory() const override { return memory_; }
  // The all-reduce of the gradients is enqueued by the collectives, whose contract is counted here: with every algorithm n
  // ranks send 2 (n - 1) S bytes together for gradients of S bytes.
  int64_t sent_bytes() const override { return sent_bytes_; }

 private:
  // Bytes in use on each rank's device.
  static std::vector<int64_t> used(const std::vector<int>& devices);
  // Counts to the ranks' buffers what has come into use since then.
  void count_buffers(const std::vector<int64_t>& used_before);

  StrategyOptions options_;
  std::vector<int64_t> used_before_;
  DataParallel model_;
  Sgd sgd_;
  std::vector<RankMemory> memory_;
  int64_t sent_bytes_ = 0;
};

}  // namespace rondo::nn
