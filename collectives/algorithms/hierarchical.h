// The hierarchical all-reduce: rings inside groups of ranks, and a direct exchange between the groups. The
// arguments have been checked; the size is not 0.
#pragma once

#include <rondo/collectives/collectives.h>
#include <rondo/collectives/operation_builder.h>

namespace rondo::hierarchical {

Status all_reduce(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs, Reduction reduction);

}  // namespace rondo::hierarchical
