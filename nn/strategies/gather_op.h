// GatherOp: gathers the outputs of a layer that is split over ranks, and reduce-scatters their gradient.
//
// Forward: rank r has computed columns (channels) c_r of the layer's result, packed. Every rank needs all
// columns:
//
//   on rank 1:   own slice        inbox, from the others        whole result, NHWC
//                [rows, c_1]      [rows, c_0] [rows, c_2]  ->   [rows, c_0 c_1 c_2]
//
// Backward: each rank computes some of the next layer's outputs, so it has a partial sum of the whole
// result's gradient. Rank r needs the complete sum of its own columns only:
//
//   each rank:   partial sum [rows, c_0 c_1 c_2]  ->  outbox [rows, c_0] [rows, c_1] [rows, c_2],
//                                                     block r for rank r
//   rank 1:      inbox [rows, c_1] per sender     ->  their sum, from the lowest rank to the highest
//
// This reduce-scatter moves half as much data as an all-reduce. After the last layer every rank computes the
// whole loss, so the gradient is already complete and each rank only extracts its own columns.
//
// The operation does the local work of one rank; TensorParallel transfers the blocks. Inbox and outbox are in
// the workspace, which no other operation uses during an exchange.
#pragma once

#include <rondo/kernels/core/counted.h>
#include <rondo/nn/graph/op.h>
#include <rondo/nn/graph/shard.h>

#include <vector>

namespace rondo::nn {

class GatherOp : public Op {
 public:
  // `whole`: shape of the complete result. The operation's single input is the rank's own columns; it is
  // ignored if the rank has none.
  GatherOp(Shape whole, int rank, int ranks) : whole_(whole), rank_(rank), ranks_(ranks) {}

  // The ranks, in ascending order, that have a partial sum of the gradient. Empty: every rank has the
  // complete gradient.
  void set_senders(std::vector<int> senders) { senders_ = std::move(senders); }
  const std::vector<int>& senders() const { return senders_; }

  std::string description() const override { return concat("gather from ", counted(ranks_, "rank")); }
  int64_t workspace_bytes(int64_t batch) const override;

  // The columns of a rank: first and count.
  Shard columns(int rank) const { return shard_of(whole_.channels, rank, ranks_); }
  int64_t rows(int64_t batch) const { return batch * whole_.height * whole_.width; }
  // Floats in a rank's block.
  int64_t block_size(int64_t batch, int rank) const { return rows(batch) * columns(rank).size; }

  // Where to put rank `from`'s slice in this rank's workspace before forward().
  float* forward_inbox(const OpContext& context, int from) const;
  // Where sender `from` puts its block in this rank's workspace before backward().
  float* backward_inbox(const OpContext& context, int from) const;
  // Where pack() writes the block for rank `to`.
  const float* outbox(const OpContext& context, int to) const;

  // Senders only: splits the partial sum into blocks, its own into the inbox, the others into the outbox.
  Status pack(const OpContext& context) const;
  Status forward(const OpContext& context) const override;
  Status backward(const OpContext& context) const override;

 private:
  int64_t inbox_size(int64_t batch) const;
  float* block_of(const OpContext& context, int to) const;

  Shape whole_;
  int rank_, ranks_;
  std::vector<int> senders_;
};

}  // namespace rondo::nn
