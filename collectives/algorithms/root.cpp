// The textbook all-reduce: rank 0 reads all vectors, adds them and copies the sum to every rank.
//
//   for i in 1 .. n-1:  data[0] += data[i]        (through rank 0's scratch memory, in rounds)
//   for i in 1 .. n-1:  data[i]  = data[0]
//
// This is the baseline. All data crosses rank 0's links, (n-1) S in and then (n-1) S out, while the other
// ranks are idle. The ring and the direct algorithm distribute the same work over all ranks.
#include <rondo/collectives/algorithms/algorithms.h>
#include <rondo/collectives/algorithms/staged_copy.h>

namespace rondo::root {

Status all_reduce(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs,
                  const ReduceOptions& options) {
  return sum_by_copies(builder, {{0, 0, {outputs.begin(), outputs.end()}}}, inputs, options);
}

}  // namespace rondo::root
