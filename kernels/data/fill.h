// Sets all elements of a vector to one value.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// x[i] = value
//
// float32, 4-byte alignment. The value may be NaN or infinite; every element gets its bits. It is an argument
// of the kernel, so the host's variable may be gone when the kernel runs, and a recorded graph keeps it. An
// empty vector does nothing. Errors: bad_argument for a negative size, or a null or misaligned pointer.
// Traffic: one write.
[[nodiscard]] Status fill(VectorView<float> x, float value, cudaStream_t stream);

}  // namespace rondo
