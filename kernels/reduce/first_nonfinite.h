// Finds the first NaN or infinity of an array, to locate the operation that produced it.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// The result of first_nonfinite() if all elements are finite.
constexpr unsigned long long kAllFinite = ~0ull;

// *index = the smallest i for which x[i] is NaN or infinite; kAllFinite if there is none. With `keep`, the
// result is the minimum of this and the previous *index, which accumulates over several calls; initialise
// *index with kAllFinite.
//
// Shapes:        x: float32, bfloat16 or float16, any size and alignment, on the stream's device; index: one
//                element in device memory.
// Determinism:   the minimum of integers, so the result does not depend on the order of the blocks.
// Errors:        bad_argument for a negative size, a null or misaligned pointer, an index that is
//                not one element or overlaps x.
// Traffic:       reads x once, 16 bytes an access.
template <InputType T = const float>
[[nodiscard]] Status first_nonfinite(VectorView<unsigned long long> index, VectorView<T> x, bool keep,
                                     cudaStream_t stream);

}  // namespace rondo
