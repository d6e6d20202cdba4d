// Sums of vectors in other ranks' memory, by copies: for the root algorithm and for ranks without peer
// access.
#pragma once

#include <rondo/collectives/operation_builder.h>
#include <rondo/collectives/types.h>

#include <vector>

namespace rondo {

// A part of the result: the sum over all ranks of inputs[r], from element `begin` on.
struct SumShard {
  int rank;  // computes it
  int64_t begin;
  PerRank<DataView> outputs;  // where it goes: to one vector of `rank`, or to one vector of each rank

  DataView own() const { return outputs[outputs.count() == 1 ? 0 : rank]; }
};

// A whole operation: computes all shards. In rounds, a rank copies parts of the inputs to its scratch memory
// and sums them into its own output. Then it copies this to the other outputs. All work of a rank is on its
// stream `sums`.
Status sum_by_copies(OperationBuilder& builder, const std::vector<SumShard>& shards, RankInputs inputs,
                     const ReduceOptions& options);

}  // namespace rondo
