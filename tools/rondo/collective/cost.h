// The predicted cost of a collective operation; for the all-reduce by collectives/models/cost_model.h.
#pragma once

#include <rondo/tools/rondo/collective/verb.h>

namespace rondo::program {

// `bytes` is the size of the larger side of each rank. The all-reduce uses the cost model. The other
// operations use the same terms: a chain of dependent steps, each a copy or a kernel, and the busiest wire or
// the one memory.
Cost cost_of(Verb verb, Algorithm algorithm, int ranks, int64_t bytes, const LinkConstants& constants,
             bool peers_reachable);

}  // namespace rondo::program
