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

// With DataParallelOptions::keep_finite: the name of the first parameter whose gradient was not finite in a
// step, "" while all were finite. Waits.
std::string nonfinite_gradient(DataParallel& model);
// Lets steps change the parameters again. load_checkpoint() and load_parameters() do this, too.
void clear_nonfinite_gradient(DataParallel& model);

// Repeats the iterator's next step, as it was `steps_ago` steps earlier, operation by operation, until one
// writes a NaN or an infinity; nothing if none does. Parameters, states and optimizer keep their values.
// Needs keep_finite, which has kept the parameters of that step. Waits. Throws rondo::Error.
std::optional<NonfiniteTensor> find_nonfinite_tensor(DataParallel& model, BatchIterator& batches,
                                                     int64_t steps_ago);

}  // namespace rondo::nn
