// The textbook's all-reduce. The arguments were checked; n > 1 and there is something to do.
#pragma once

#include <rondo/collectives/collectives.h>
#include <rondo/collectives/operation_builder.h>

namespace rondo::root {

Status all_reduce(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs, const ReduceOptions& options);

}  // namespace rondo::root
