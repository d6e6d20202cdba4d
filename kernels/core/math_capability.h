// The GPUs that have an arithmetic: a function of the compute capability alone, for plans of any GPU.
// check_math() and check_factor_type() ask the current device.
#pragma once

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/math_mode.h>

namespace rondo {

// The least compute capability, times 10, that computes products of factors of the type (float32, bfloat16 or
// float16) in the arithmetic, which is fp32 for the types of 16 bits. 0: every GPU does.
constexpr int least_capability(DType type, Math math) {
  if (type == DType::float32) return math == Math::fp32 ? 0 : 80;
  return type == DType::float16 ? 75 : 80;
}

}  // namespace rondo
