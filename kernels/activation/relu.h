// The rectified linear unit, elementwise on `size` elements of any shape.
//
// All functions: float32, bfloat16 or float16, exact (no rounding), aligned to the elements, bound by memory
// traffic: one read of each input and one write. The output may be an input (the same pointer), otherwise
// they must not overlap.
// Errors: bad_argument for a negative or unequal size, a null or misaligned pointer, an overlap.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// y = max(x, 0). NaN stays NaN; -0 becomes +0.
[[nodiscard]] Status relu(VectorView<float> y, VectorView<const float> x, cudaStream_t stream);
[[nodiscard]] Status relu(VectorView<__nv_bfloat16> y, VectorView<const __nv_bfloat16> x,
                          cudaStream_t stream);
[[nodiscard]] Status relu(VectorView<__half> y, VectorView<const __half> x, cudaStream_t stream);

// dx = y > 0 ? dy : 0, with y = relu(x). The gradient is 0 where x is 0 and where y is NaN.
[[nodiscard]] Status relu_backward(VectorView<float> dx, VectorView<const float> dy,
                                   VectorView<const float> y, cudaStream_t stream);
[[nodiscard]] Status relu_backward(VectorView<__nv_bfloat16> dx, VectorView<const __nv_bfloat16> dy,
                                   VectorView<const __nv_bfloat16> y, cudaStream_t stream);
[[nodiscard]] Status relu_backward(VectorView<__half> dx, VectorView<const __half> dy,
                                   VectorView<const __half> y, cudaStream_t stream);

}  // namespace rondo
