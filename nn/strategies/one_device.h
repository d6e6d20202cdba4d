// OneDevice: the whole network and the whole batch on one device. The baseline for the other strategies.
#pragma once

#include <rondo/nn/optim/optimizers.h>
#include <rondo/nn/strategies/strategy.h>

#include <optional>

namespace rondo::nn {

class OneDevice : public Strategy {
 public:
  // Uses the first device. Throws rondo::Error.
  OneDevice(const AnyModule& network, Shape input, const StrategyOptions& options);
  ~OneDevice() override;  // waits for the steps

  void train_step(const Batch& batch) override;
  LossStats take_loss_stats() override { return head_.take_stats(); }
  std::vector<float> parameters() override { return parameters_of(replica_); }
  std::vector<RankMemory> memory() const override;
  int64_t sent_bytes() const override { return 0; }

 private:
  StrategyOptions options_;
  Graph graph_;
  Stream stream_;
  HostUploads uploads_;
  Replica replica_;
  LossHead head_;
  std::optional<Sgd> sgd_;  // none without parameters
};

}  // namespace rondo::nn
