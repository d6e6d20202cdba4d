// Bitwise comparison of two arrays on the device, for instance of two replicas.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// *count += the number of positions at which a and b differ in any bit (-0 differs from +0; equal NaN
// patterns are equal).
//
// Shapes:        a, b: the same size, on the stream's device (or on a device with peer access); count: one
//                element in device memory, which the caller sets to zero before the first call.
// Determinism:   integer addition, so the result does not depend on the order of the blocks.
// Errors:        bad_argument for different sizes, a null or misaligned pointer, a count that is not
//                one element or overlaps a or b.
// Traffic:       reads 8 bytes per position.
[[nodiscard]] Status count_differences(VectorView<unsigned long long> count, VectorView<const float> a,
                                       VectorView<const float> b, cudaStream_t stream);

}  // namespace rondo
