// Precision: the values of `--precision`.
#pragma once

#include <rondo/kernels/core/math_mode.h>

namespace rondo::program {

// fp32, tf32, tf32x3: the Math of the products of fp32 data. bf16: activations and their gradients are
// bfloat16.
enum class Precision { fp32, tf32, tf32x3, bf16 };
inline constexpr Precision kPrecisions[] = {Precision::fp32, Precision::tf32, Precision::tf32x3,
                                            Precision::bf16};

inline constexpr const char* kPrecisionHelp =
    "fp32; tf32 or tf32x3: products of convolutions and linear layers by tensor cores, tf32x3 with the "
    "accuracy of fp32; bf16: activations and their gradients in bfloat16 [fp32]";

constexpr Math math_of(Precision precision) {
  return precision == Precision::tf32     ? Math::tf32
         : precision == Precision::tf32x3 ? Math::tf32x3
                                          : Math::fp32;
}

// The type in which values are stored.
constexpr DType element_type(Precision precision) {
  return precision == Precision::bf16 ? DType::bfloat16 : DType::float32;
}

constexpr const char* name_of(Precision precision) {
  return precision == Precision::bf16 ? "bf16" : rondo::name_of(math_of(precision));
}

}  // namespace rondo::program
