// Sums of vectors in other ranks' memory, by copies: for the root algorithm and for ranks without peer
// access. All work is on the rank's own stream `sums`. The caller adds a barrier (join_sums()) before and
// after.
#pragma once

#include <rondo/collectives/collectives.h>
#include <rondo/collectives/operation_builder.h>

namespace rondo {

// output = sum over all ranks of inputs[r] from element `begin` on, output.size elements, computed by `rank`.
Status staged_reduce(OperationBuilder& builder, int rank, DataView output, RankInputs inputs, int64_t begin,
                     const ReduceOptions& options);

// The same for a part of every output: `rank` sums the part into its own output and copies it to all others.
Status staged_reduce_and_broadcast(OperationBuilder& builder, int rank, RankOutputs outputs,
                                   RankInputs inputs, ring::Chunk part, const ReduceOptions& options);

}  // namespace rondo
