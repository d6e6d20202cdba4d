// Arithmetic: how factors are multiplied. A Math and the type of the factors select it. Sums are always fp32.
#pragma once

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/math_mode.h>

namespace rondo {

// fp32, tf32, tf32x3: of float factors, as Math. bf16, fp16: of 16-bit factors, whose products are exact.
enum class Arithmetic { fp32, tf32, tf32x3, bf16, fp16 };

inline constexpr Arithmetic kArithmetics[] = {Arithmetic::fp32, Arithmetic::tf32, Arithmetic::tf32x3,
                                              Arithmetic::bf16, Arithmetic::fp16};

// `math` selects among those of floats; factors of 16 bits have one arithmetic.
constexpr Arithmetic arithmetic_of(DType factors, Math math) {
  if (factors == DType::bfloat16) return Arithmetic::bf16;
  if (factors == DType::float16) return Arithmetic::fp16;
  return math == Math::tf32 ? Arithmetic::tf32 : math == Math::tf32x3 ? Arithmetic::tf32x3 : Arithmetic::fp32;
}

constexpr DType factor_type(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::bf16   ? DType::bfloat16
         : arithmetic == Arithmetic::fp16 ? DType::float16
                                          : DType::float32;
}

// The Math that selects the arithmetic among those of its factors.
constexpr Math math_of(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::tf32     ? Math::tf32
         : arithmetic == Arithmetic::tf32x3 ? Math::tf32x3
                                            : Math::fp32;
}

// All but fp32.
constexpr bool uses_tensor_cores(Arithmetic arithmetic) { return arithmetic != Arithmetic::fp32; }

constexpr const char* name_of(Arithmetic arithmetic) {
  constexpr const char* kNames[] = {"fp32", "tf32", "tf32x3", "bf16", "fp16"};
  return kNames[static_cast<int>(arithmetic)];
}

// The C++ type of the factors: FactorOf<Arithmetic::bf16> is __nv_bfloat16.
template <Arithmetic kArithmetic>
struct FactorOfArithmetic {
  using Type = float;
};
template <>
struct FactorOfArithmetic<Arithmetic::bf16> {
  using Type = __nv_bfloat16;
};
template <>
struct FactorOfArithmetic<Arithmetic::fp16> {
  using Type = __half;
};
template <Arithmetic kArithmetic>
using FactorOf = typename FactorOfArithmetic<kArithmetic>::Type;

// Returns run.template operator()<kArithmetic>() for an arithmetic of T by tensor cores.
template <class T, class Run>
Status with_tensor_arithmetic([[maybe_unused]] Arithmetic arithmetic, Run&& run) {
  if constexpr (dtype_of<T> == DType::float32)
    return arithmetic == Arithmetic::tf32x3 ? run.template operator()<Arithmetic::tf32x3>()
                                            : run.template operator()<Arithmetic::tf32>();
  else
    return run.template operator()<arithmetic_of(dtype_of<T>, Math::fp32)>();
}

}  // namespace rondo
