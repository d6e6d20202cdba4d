// Math: the arithmetic of matrix products and convolutions of fp32 data. Sums are always fp32.
#pragma once

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>

namespace rondo {

// fp32:   fused multiply-adds. The default.
// tf32:   tensor cores. The factors are rounded to 11 significant bits (tf32), so a product has a relative
//         error of up to 2^-10.
// tf32x3: tensor cores, with the accuracy of fp32. Each factor is split into two tf32 values, and three of
//         the four products of their parts are added. Source: Ootomo and Yokota, "Recovering single precision
//         accuracy from Tensor Cores while surpassing the FP32 theoretical peak performance", 2022.
//
// tf32 and tf32x3 need a GPU of compute capability 8.0 or newer.
enum class Math { fp32, tf32, tf32x3 };

inline constexpr Math kMathModes[] = {Math::fp32, Math::tf32, Math::tf32x3};

constexpr const char* name_of(Math math) {
  return math == Math::fp32 ? "fp32" : math == Math::tf32 ? "tf32" : "tf32x3";
}

// The lowest compute capability, times 10, that has products of this type (float32, bfloat16 or float16) in
// this arithmetic; 0 if every GPU has them. `math` must be fp32 for the 16-bit types.
constexpr int least_capability(DType type, Math math) {
  if (type == DType::float32) return math == Math::fp32 ? 0 : 80;
  return type == DType::float16 ? 75 : 80;
}

// Returns bad_argument if `math` is not a Math, or if the current device has no instructions for it. `name`
// is the first word of the message.
Status check_math(const char* name, Math math);
// The same for the type of the factors of a product: float32, bfloat16 or float16.
Status check_factor_type(const char* name, DType type);
// The same for products by warpgroups (ptx/wgmma.cuh), which only GPUs of compute capability 9.0 have.
Status check_wgmma(const char* name);

}  // namespace rondo
