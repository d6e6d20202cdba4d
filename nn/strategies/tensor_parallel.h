// TensorParallel: splits every layer over all devices by its outputs. tensor_parallel.cpp is the lesson.
#pragma once

#include <rondo/nn/strategies/gather_op.h>
#include <rondo/nn/strategies/worker.h>

#include <memory>
#include <vector>

namespace rondo::nn {

class TensorParallel : public Strategy {
 public:
  // Supports chains of Linear, Conv2d, ReLU, pooling and Flatten. Throws rondo::Error: bad_argument for any
  // other module that adds an operation.
  TensorParallel(const AnyModule& network, Shape input, const StrategyOptions& options);
  ~TensorParallel() override;  // waits for the steps

  void train_step(const Batch& batch) override;
  LossStats take_loss_stats() override;
  std::vector<float> parameters() override;
  std::vector<RankMemory> memory() const override;
  int64_t sent_bytes() const override { return sent_bytes_; }

 private:
  struct Gather {
    int node = -1;
    GatherOp* op = nullptr;  // owned by the graph
  };
  struct Rank {
    Graph graph;
    std::vector<Gather> gathers;  // for the same layers on every rank
    std::vector<ParameterPart> parts;
    std::unique_ptr<Worker> worker;
    std::unique_ptr<LossHead> head;
    std::unique_ptr<Event> reached;
  };
  // Builds the graph of one rank.
  class Builder;

  int ranks() const { return static_cast<int>(ranks_.size()); }
  void wait_for_all();
  void send(int from, const float* what, int to, float* where, int64_t size);
  void gather(size_t layer);
  void scatter(size_t layer);
  // The nodes of a rank between gather `layer` - 1 and gather `layer`. The last range ends at the last node.
  Shard between(const Rank& rank, size_t layer) const;

  StrategyOptions options_;
  Graph whole_;
  std::vector<Rank> ranks_;
  int64_t sent_bytes_ = 0;
};

}  // namespace rondo::nn
