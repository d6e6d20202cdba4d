// Where does an array first hold something that is no number? For the hunt for the operation that made it.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// What first_nonfinite() leaves where every element is finite.
constexpr unsigned long long kAllFinite = ~0ull;

// *index = the smallest i for which x[i] is NaN or infinite; kAllFinite if there is none. With `keep` also what was there
// before counts, so that the first call that finds something is remembered: begin with kAllFinite.
//
// Shapes:        x: any size and alignment, on the stream's device; index: one element in device memory.
// Determinism:   the minimum of integers, so the result does not depend on the order of the blocks.
// Errors:        bad_argument for a negative size, a null or misaligned pointer, an index that is
//                not one element or overlaps x.
// Traffic:       reads x once.
[[nodiscard]] Status first_nonfinite(VectorView<unsigned long long> index, VectorView<const float> x, bool keep,
                                     cudaStream_t stream);

}  // namespace rondo
