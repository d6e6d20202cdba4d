// Conversion between float32 and the 16-bit types, elementwise on `size` elements of any shape.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// y = x. To 16 bits: rounded to nearest even; NaN stays NaN, and a finite value from 2^128 - 2^119 on
// (bfloat16) or 65520 on (float16) becomes infinite. A float16 below 2^-14 is a multiple of 2^-24. To
// float32: exact. Aligned to the elements; accesses of 16 bytes where both operands allow them.
// Errors: bad_argument for a negative or unequal size, a null or misaligned pointer, an overlap. Traffic: one
// read, one write.
[[nodiscard]] Status cast(VectorView<__nv_bfloat16> y, VectorView<const float> x, cudaStream_t stream);
[[nodiscard]] Status cast(VectorView<__half> y, VectorView<const float> x, cudaStream_t stream);
[[nodiscard]] Status cast(VectorView<float> y, VectorView<const __nv_bfloat16> x, cudaStream_t stream);
[[nodiscard]] Status cast(VectorView<float> y, VectorView<const __half> x, cudaStream_t stream);

}  // namespace rondo
