// The textbook's all-reduce: rank 0 fetches everyone's vector, adds them up, and hands the sum to everyone.
//
//   for i in 1 .. n-1:  data[0] += data[i]        (through rank 0's scratch memory, in rounds)
//   for i in 1 .. n-1:  data[i]  = data[0]
//
// It is the baseline. Every byte goes over rank 0's wires, (n-1) S in and (n-1) S out, one after the other, while the
// other ranks have nothing to do; the ring and the direct algorithm spread the same work over all of them.
#include <rondo/collectives/algorithms/staged_copy.h>
#include <rondo/collectives/algorithms/root.h>

namespace rondo::root {

Status all_reduce(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs, const ReduceOptions& options) {
  constexpr int kRoot = 0;
  RONDO_RETURN_IF_ERROR(builder.fork());
  RONDO_RETURN_IF_ERROR(builder.join_sums());
  RONDO_RETURN_IF_ERROR(
      fetch_sum_hand_out(builder, kRoot, outputs, inputs, ring::Chunk{0, outputs[0].size}, options));
  RONDO_RETURN_IF_ERROR(builder.join_sums());
  return builder.join(OperationBuilder::Senders::prev);
}

}  // namespace rondo::root
