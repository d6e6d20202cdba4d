// The hierarchical all-reduce, step 2, if the groups are processes.
#pragma once

#include <rondo/collectives/across_hosts/exchange.h>
#include <rondo/collectives/algorithms/ring_steps.h>

namespace rondo::hierarchical {

// Adds the partial sums of all processes and writes the finished sums to the outputs.
Status reduce_across_processes(OperationBuilder& builder, Exchange& exchange, const ring::Ring& ring);

}  // namespace rondo::hierarchical
