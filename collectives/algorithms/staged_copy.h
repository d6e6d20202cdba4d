// Sums of what lies in other ranks' memories, by copies: for the root algorithm, and for ranks that can't reach each
// other. Everything goes on the rank's own stream `sums`; the ranks must have met before and join_streams after.
#pragma once

#include <rondo/collectives/collectives.h>
#include <rondo/collectives/operation_builder.h>

namespace rondo {

// output = the sum over the ranks of inputs[r] from element `begin` on, output.size elements, made by `rank`.
Status fetch_and_sum(OperationBuilder& builder, int rank, DataView output, RankInputs inputs, int64_t begin,
                     const ReduceOptions& options);

// The same for a part of every output: `rank` sums it into its own and copies it to all others.
Status fetch_sum_hand_out(OperationBuilder& builder, int rank, RankOutputs outputs, RankInputs inputs,
                          ring::Chunk part, const ReduceOptions& options);

}  // namespace rondo
