// Arithmetic with a rounding mode of its own: __fadd_rz() and similar functions, and the intrinsics whose
// result the compiler must not contract into an fma.
#pragma once

#include <simt/memory_access.h>

#include <cfenv>
#include <cmath>
#include <type_traits>

namespace simt::detail {

// The compiler neither knows the value, nor computes it or what comes of it in another place.
template <class T>
void keep_here(T& value) {
  if constexpr (std::is_integral_v<T>)
    asm volatile("" : "+r"(value) : : "memory");
  else
    asm volatile("" : "+x"(value) : : "memory");
}

// Computes in another rounding mode.
template <int Mode, class T, class Operation, class... Values>
T rounded(Operation operation, Values... values) {
  if constexpr (Mode == FE_TONEAREST) {
    T result = operation(values...);
    asm("" : "+x"(result));  // an operation of its own
    return result;
  } else {
    const int before = std::fegetround();
    std::fesetround(Mode);
    (keep_here(values), ...);
    T result = operation(values...);
    keep_here(result);
    std::fesetround(before);
    return result;
  }
}

}  // namespace simt::detail

#define SIMT_ROUNDED(prefix, T, suffix, mode)                                    \
  inline T __##prefix##add_##suffix(T a, T b) {                                  \
    return simt::detail::rounded<mode, T>([](T x, T y) { return x + y; }, a, b); \
  }                                                                              \
  inline T __##prefix##sub_##suffix(T a, T b) {                                  \
    return simt::detail::rounded<mode, T>([](T x, T y) { return x - y; }, a, b); \
  }                                                                              \
  inline T __##prefix##mul_##suffix(T a, T b) {                                  \
    return simt::detail::rounded<mode, T>([](T x, T y) { return x * y; }, a, b); \
  }                                                                              \
  inline T __##prefix##div_##suffix(T a, T b) {                                  \
    return simt::detail::rounded<mode, T>([](T x, T y) { return x / y; }, a, b); \
  }                                                                              \
  inline T __##prefix##rcp_##suffix(T a) {                                       \
    return simt::detail::rounded<mode, T>([](T x) { return 1 / x; }, a);         \
  }                                                                              \
  inline T __##prefix##sqrt_##suffix(T a) {                                      \
    return simt::detail::rounded<mode, T>([](T x) { return std::sqrt(x); }, a);  \
  }
#define SIMT_ROUNDED_FMA(name, T, mode)                                                              \
  inline T name(T a, T b, T c) {                                                                     \
    simt::count_multiply_adds(1);                                                                    \
    return simt::detail::rounded<mode, T>([](T x, T y, T z) { return std::fma(x, y, z); }, a, b, c); \
  }
#define SIMT_ROUNDED_BOTH(suffix, mode) \
  SIMT_ROUNDED(f, float, suffix, mode)  \
  SIMT_ROUNDED(d, double, suffix, mode) \
  SIMT_ROUNDED_FMA(__fma_##suffix, double, mode)
SIMT_ROUNDED_BOTH(rn, FE_TONEAREST)
SIMT_ROUNDED_BOTH(rz, FE_TOWARDZERO)
SIMT_ROUNDED_BOTH(ru, FE_UPWARD)
SIMT_ROUNDED_BOTH(rd, FE_DOWNWARD)
SIMT_ROUNDED_FMA(__fmaf_rz, float, FE_TOWARDZERO)
SIMT_ROUNDED_FMA(__fmaf_ru, float, FE_UPWARD)
SIMT_ROUNDED_FMA(__fmaf_rd, float, FE_DOWNWARD)
#undef SIMT_ROUNDED_BOTH
#undef SIMT_ROUNDED_FMA
#undef SIMT_ROUNDED

inline float __fmaf_rn(float a, float b, float c) {
  simt::count_multiply_adds(1);
  return fmaf(a, b, c);
}
inline float __frsqrt_rn(float x) { return static_cast<float>(1 / std::sqrt(static_cast<double>(x))); }
