// The algorithms of the operations. The arguments have been checked; the size is not 0. All but the
// hierarchical algorithm have more than one rank.
#pragma once

#include <rondo/collectives/operation_builder.h>
#include <rondo/collectives/types.h>

namespace rondo {

// Each rank sends chunks to the next rank.
namespace ring {
Status all_reduce(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs, Reduction reduction);
Status reduce_scatter(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs, Reduction reduction);
Status all_gather(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs);
Status broadcast(OperationBuilder& builder, RankOutputs outputs, ConstDataView input, int root);
Status reduce(OperationBuilder& builder, DataView output, RankInputs inputs, int root, Reduction reduction);
}  // namespace ring

// Each rank exchanges data with every other rank; no rank forwards data.
namespace direct {
Status all_reduce(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs,
                  const ReduceOptions& options);
Status reduce_scatter(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs,
                      const ReduceOptions& options);
Status all_gather(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs);
Status broadcast(OperationBuilder& builder, RankOutputs outputs, ConstDataView input, int root);
Status reduce(OperationBuilder& builder, DataView output, RankInputs inputs, int root,
              const ReduceOptions& options);
Status all_to_all(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs);
}  // namespace direct

// The textbook version: everything through rank 0.
namespace root {
Status all_reduce(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs,
                  const ReduceOptions& options);
}  // namespace root

// Rings inside groups of ranks, and a direct exchange between the groups.
namespace hierarchical {
Status all_reduce(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs, Reduction reduction);
}  // namespace hierarchical

}  // namespace rondo
