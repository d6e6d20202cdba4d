// PipelineParallel: consecutive layers on different devices, through which the batch flows in micro-batches.
// pipeline_parallel.cpp is the lesson, stage_split.h says where the network is cut.
#pragma once

#include <rondo/nn/strategies/loss_head.h>
#include <rondo/nn/strategies/stage_split.h>
#include <rondo/nn/strategies/worker.h>

#include <memory>
#include <vector>

namespace rondo::nn {

class PipelineParallel : public Strategy {
 public:
  // A stage for each device. Throws rondo::Error: bad_argument where the network can't be cut into so many, or has layers that
  // look at the batch as a whole (batch normalisation).
  PipelineParallel(const AnyModule& network, Shape input, const StrategyOptions& options);

  void train_step(const Batch& batch) override;
  LossStats take_loss_stats() override { return head_->take_loss_stats(); }
  std::vector<float> parameters() override;
  std::vector<RankMemory> memory() const override;
  int64_t sent_bytes() const override { return sent_bytes_; }

  const std::vector<Piece>& stages() const { return pieces_; }

 private:
  // A stage, and what ties it to the next one. Copies have streams of their own, so that a stage computes the next
  // micro-batch while this one is on its way.
  struct Stage {
    Graph graph;
    ParameterPart part;
    std::unique_ptr<Worker> worker;
    std::unique_ptr<Stream> sending;  // of what goes out
    std::vector<Event> ready,
        arrived;  // of each micro-batch, forward: it may be sent; it is in the next stage
    std::vector<Event> gradient_ready, gradient_arrived;  // backward: to the stage before
  };

  void send(Stage& from, const Tensor& what, Event& ready, Stage& to, const Tensor& where, Event& arrived);
  void forward(int64_t micro, int64_t first);
  void backward(int64_t micro, bool add);

  StrategyOptions options_;
  Graph whole_;
  std::vector<Piece> pieces_;
  std::vector<Stage> stages_;
  std::unique_ptr<LossHead> head_;  // on the device of the last stage
  int64_t sent_bytes_ = 0;
};

}  // namespace rondo::nn
