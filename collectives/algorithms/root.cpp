// The textbook all-reduce: rank 0 reads all vectors, adds them and copies the sum to every rank.
//
//   for i in 1 .. n-1:  data[0] += data[i]        (through rank 0's scratch memory, in rounds)
//   for i in 1 .. n-1:  data[i]  = data[0]
//
// This is the baseline. All data crosses rank 0's links, (n-1) S in and then (n-1) S out, while the other
// ranks are idle. The ring and the direct algorithm distribute the same work over all ranks.
#include <rondo/collectives/algorithms/staged_copy.h>
#include <rondo/collectives/algorithms/root.h>

namespace rondo::root {

Status all_reduce(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs,
                  const ReduceOptions& options) {
  constexpr int kRoot = 0;
  RONDO_RETURN_IF_ERROR(builder.fork());
  RONDO_RETURN_IF_ERROR(builder.join_sums());
  RONDO_RETURN_IF_ERROR(
      staged_reduce_and_broadcast(builder, kRoot, outputs, inputs, ring::Chunk{0, outputs[0].size}, options));
  RONDO_RETURN_IF_ERROR(builder.join_sums());
  return builder.join(OperationBuilder::Senders::prev);
}

}  // namespace rondo::root
