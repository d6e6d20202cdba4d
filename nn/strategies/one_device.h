// OneDevice: the whole network and the whole batch on one device. The baseline for the other strategies.
#pragma once

#include <rondo/nn/graph/replica.h>
#include <rondo/nn/strategies/loss_head.h>

namespace rondo::nn {

class OneDevice : public Strategy {
 public:
  // Uses the first device. Throws rondo::Error.
  OneDevice(const AnyModule& network, Shape input, const StrategyOptions& options);
  ~OneDevice() override;  // waits for the steps

  void train_step(const Batch& batch) override;
  LossStats take_loss_stats() override { return head_.take_loss_stats(); }
  std::vector<float> parameters() override { return parameters_of(replica_); }
  std::vector<RankMemory> memory() const override;
  int64_t sent_bytes() const override { return 0; }

 private:
  StrategyOptions options_;
  Graph graph_;
  MemoryPlan plan_;
  Stream stream_;
  HostUploads uploads_;
  Replica replica_;
  LossHead head_;
  Buffer<float> learning_rate_;
};

}  // namespace rondo::nn
