// GatherOp: where the outputs of a layer that is split over ranks come together, and their gradient is taken apart.
//
// Forward, rank r has computed columns (channels) c_r of the layer's result, packed, and every rank needs all of them:
//
//   on rank 1:   own slice        inbox, from the others        whole result, NHWC
//                [rows, c_1]      [rows, c_0] [rows, c_2]  ->   [rows, c_0 c_1 c_2]
//
// Backward it is turned round. What a rank knows of the whole result's gradient is only what the outputs of the next layer
// that it computes have to say: a partial sum. Rank r needs the complete sum, but of its own columns alone:
//
//   each rank:   partial sum [rows, c_0 c_1 c_2]  ->  outbox [rows, c_0] [rows, c_1] [rows, c_2], block r for rank r
//   rank 1:      inbox [rows, c_1] of each sender ->  their sum, from the lowest rank to the highest
//
// That is a reduce-scatter, and moves half as much as an all-reduce that nobody needs. Behind the last layer every rank
// computes the whole loss by itself, its gradient is complete, and the own columns are just taken out.
//
// The operation does what one rank does by itself; the blocks are carried by TensorParallel. Inbox and outbox lie in the
// workspace: between the meetings of the ranks no other operation uses it.
#pragma once

#include <rondo/nn/graph/op.h>
#include <rondo/nn/train/shard.h>

#include <vector>

namespace rondo::nn {

class GatherOp : public Op {
 public:
  // `whole`: of the complete result. The operation has one input, the own columns; where the rank has none it is
  // anything, and not looked at.
  GatherOp(Shape whole, int rank, int ranks) : whole_(whole), rank_(rank), ranks_(ranks) {}

  // The ranks, in rising order, that have a partial sum of the gradient; none: every rank has the complete gradient.
  void set_senders(std::vector<int> senders) { senders_ = std::move(senders); }
  const std::vector<int>& senders() const { return senders_; }

  std::string description() const override { return concat("gather from ", ranks_, " ranks"); }
  int64_t workspace_bytes(int64_t batch) const override;

  // The columns of a rank: first and number.
  Shard columns(int rank) const { return shard_of(whole_.channels, rank, ranks_); }
  int64_t rows(int64_t batch) const { return batch * whole_.height * whole_.width; }
  // Floats of a rank's block.
  int64_t block_size(int64_t batch, int rank) const { return rows(batch) * columns(rank).size; }

  // Where the own slice of rank `from` is to be put in this rank's workspace before forward().
  float* forward_inbox(const OpContext& run, int from) const;
  // Where rank `from`, one of the senders, has to put its block before backward().
  float* backward_inbox(const OpContext& run, int from) const;
  // Where pack() leaves the block for rank `to`.
  const float* outbox(const OpContext& run, int to) const;

  // Cuts the partial sum into blocks: the own one into the inbox, the others into the outbox. For senders.
  Status pack(const OpContext& run) const;
  Status forward(const OpContext& run) const override;
  Status backward(const OpContext& run) const override;

 private:
  int64_t inbox_size(int64_t batch) const;
  float* block_of(const OpContext& run, int to) const;

  Shape whole_;
  int rank_, ranks_;
  std::vector<int> senders_;
};

}  // namespace rondo::nn
