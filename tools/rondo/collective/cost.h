// What a collective operation spends its time on, as collectives/models/cost_model.h predicts it for an all-reduce.
#pragma once

#include <rondo/tools/rondo/collective/verb.h>

namespace rondo::program {

// The prediction for `bytes` on the larger side of each rank. The all-reduce's is the cost model's; the others' is
// made of the same terms: a chain of steps, each with a copy or a kernel, over the busiest wire or the one memory.
Cost cost_of(Verb verb, Algorithm algorithm, int ranks, int64_t bytes, const LinkConstants& constants,
             bool peers_reachable);

}  // namespace rondo::program
