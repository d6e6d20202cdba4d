// The direct algorithms: no rank passes anything on. The arguments were checked; n > 1 and there is something to do.
#pragma once

#include <rondo/collectives/collectives.h>
#include <rondo/collectives/operation_builder.h>

namespace rondo::direct {

Status all_reduce(Enqueue& enqueue, RankOutputs outputs, RankInputs inputs, const ReduceOptions& options);
Status reduce_scatter(Enqueue& enqueue, RankOutputs outputs, RankInputs inputs, const ReduceOptions& options);
Status all_gather(Enqueue& enqueue, RankOutputs outputs, RankInputs inputs);
Status broadcast(Enqueue& enqueue, RankOutputs outputs, ConstDataView input, int root);
Status reduce(Enqueue& enqueue, DataView output, RankInputs inputs, int root, const ReduceOptions& options);
Status all_to_all(Enqueue& enqueue, RankOutputs outputs, RankInputs inputs);

}  // namespace rondo::direct
