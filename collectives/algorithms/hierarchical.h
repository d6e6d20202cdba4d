// The hierarchical all-reduce: rings inside groups of ranks, and the groups beside each other. The arguments were
// checked and there is something to do.
#pragma once

#include <rondo/collectives/collectives.h>
#include <rondo/collectives/operation_builder.h>

namespace rondo::hierarchical {

Status all_reduce(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs, Reduction reduction);

}  // namespace rondo::hierarchical
