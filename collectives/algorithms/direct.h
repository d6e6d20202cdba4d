// The direct algorithms: no rank forwards data. The arguments have been checked; n > 1 and the size is not 0.
#pragma once

#include <rondo/collectives/collectives.h>
#include <rondo/collectives/operation_builder.h>

namespace rondo::direct {

Status all_reduce(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs,
                  const ReduceOptions& options);
Status reduce_scatter(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs,
                      const ReduceOptions& options);
Status all_gather(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs);
Status broadcast(OperationBuilder& builder, RankOutputs outputs, ConstDataView input, int root);
Status reduce(OperationBuilder& builder, DataView output, RankInputs inputs, int root,
              const ReduceOptions& options);
Status all_to_all(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs);

}  // namespace rondo::direct
