// Checks of a DataParallel model: whether its replicas are equal, and where a NaN came from.
#pragma once

#include <rondo/nn/data/batch_iterator.h>
#include <rondo/nn/diagnostics/nonfinite.h>

#include <cstdint>
#include <optional>
#include <string>

namespace rondo::nn {

class DataParallel;

// The number of parameter values that differ in any bit between the replicas; 0 unless something is wrong.
// Waits. Throws rondo::Error.
int64_t differing_values(DataParallel& model);

// With DataParallelOptions::keep_finite: what was not finite in a step, "the loss" or "the gradient of
// '0.weight'" (the first such parameter); "" while all was finite. Waits.
std::string nonfinite_value(DataParallel& model);
// Lets steps change the parameters again, and resets the loss statistics if they are not finite.
// load_checkpoint() and load_parameters() do this, too.
void clear_nonfinite_value(DataParallel& model);

// Goes back `steps_ago` steps from the iterator's next step, and runs that step operation by operation.
// Returns the first tensor or loss of a sample that has a NaN or an infinity, or nothing. Parameters, states
// and the optimizer keep their values. Needs keep_finite, which has kept the parameters of that
// step. Waits. Throws rondo::Error.
std::optional<NonfiniteTensor> find_nonfinite_tensor(DataParallel& model, BatchIterator& batches,
                                                     int64_t steps_ago);

}  // namespace rondo::nn
