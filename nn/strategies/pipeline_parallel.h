// PipelineParallel: consecutive layers on different devices; the batch passes through them in micro-batches.
// pipeline_parallel.cpp is the lesson. stage_split.h describes where the network is split.
#pragma once

#include <rondo/nn/strategies/stage_split.h>
#include <rondo/nn/strategies/worker.h>

#include <memory>
#include <vector>

namespace rondo::nn {

class PipelineParallel : public Strategy {
 public:
  // One stage per device. Throws rondo::Error: bad_argument if the network cannot be split into that many
  // stages, or has layers that need the whole batch (batch normalisation).
  PipelineParallel(const AnyModule& network, Shape input, const StrategyOptions& options);
  ~PipelineParallel() override;  // waits for the steps

  void train_step(const Batch& batch) override;
  LossStats take_loss_stats() override { return head_->take_stats(); }
  std::vector<float> parameters() override;
  std::vector<RankMemory> memory() const override;
  int64_t sent_bytes() const override { return sent_bytes_; }

  const std::vector<StagePart>& stages() const { return parts_; }

 private:
  // A stage and its link to the next one. Copies use their own stream, so that the stage computes the next
  // micro-batch during the copy.
  struct Stage {
    Graph graph;
    ParameterPart part;
    std::unique_ptr<Worker> worker;
    std::unique_ptr<Stream> sending;  // stream of outgoing copies
    std::vector<Event> ready,
        arrived;  // per micro-batch, forward: ready to be sent; copied to the next stage
    std::vector<Event> gradient_ready, gradient_arrived;  // backward: the same, to the previous stage
  };

  void send(Stage& from, const Tensor& what, Event& ready, Stage& to, const Tensor& where, Event& arrived);
  void forward(int64_t micro, int64_t first, Loss loss);
  void backward(int64_t micro, bool add);

  StrategyOptions options_;
  Graph whole_;
  std::vector<StagePart> parts_;
  std::vector<Stage> stages_;
  std::unique_ptr<LossHead> head_;  // on the device of the last stage
  int64_t sent_bytes_ = 0;
};

}  // namespace rondo::nn
