// The textbook all-reduce. The arguments have been checked; n > 1 and the size is not 0.
#pragma once

#include <rondo/collectives/collectives.h>
#include <rondo/collectives/operation_builder.h>

namespace rondo::root {

Status all_reduce(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs,
                  const ReduceOptions& options);

}  // namespace rondo::root
