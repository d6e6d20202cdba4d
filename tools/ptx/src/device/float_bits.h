// Representations of floating-point numbers: conversions with one rounding, subnormal numbers.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace ptx {

inline float bits_to_float(uint32_t bits) { return std::bit_cast<float>(bits); }
inline uint32_t float_to_bits(float value) { return std::bit_cast<uint32_t>(value); }

inline float half_to_float(uint16_t half) {
#if defined(__F16C__)
  return _cvtsh_ss(half);
#else
  const uint32_t sign = uint32_t{half} >> 15 << 31, magnitude = half & 0x7FFFu;
  if (magnitude >= 0x7C00) return bits_to_float(sign | 0x7F800000u | magnitude << 13);
  const float value = magnitude >= 0x400 ? bits_to_float((magnitude << 13) + (112u << 23))
                                         : static_cast<float>(magnitude) * 0x1p-24f;
  return bits_to_float(float_to_bits(value) | sign);
#endif
}

// Rounded to nearest even. NaN becomes the canonical NaN of the ISA.
inline uint16_t float_to_half(float value) {
  if (value != value) return 0x7FFF;
#if defined(__F16C__)
  return static_cast<uint16_t>(_cvtss_sh(value, 0));
#else
  const uint32_t bits = float_to_bits(value), magnitude = bits & 0x7FFFFFFFu;
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  if (magnitude >= 0x477FF000u) return sign | 0x7C00;
  if (magnitude < 0x38800000u)  // subnormal: multiples of 2^-24
    return sign | static_cast<uint16_t>(float_to_bits(bits_to_float(magnitude) + 0.5f) - float_to_bits(0.5f));
  return sign | static_cast<uint16_t>((magnitude - (112u << 23) + 0xFFF + (magnitude >> 13 & 1)) >> 13);
#endif
}

inline float bfloat_to_float(uint16_t value) { return bits_to_float(uint32_t{value} << 16); }

inline uint16_t float_to_bfloat(float value) {
  if (value != value) return 0x7FFF;
  const uint32_t bits = float_to_bits(value);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// A float that rounds to any narrower format as `value` does: rounded to odd.
inline float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || nearest != nearest) return nearest;
  uint32_t bits = float_to_bits(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;
  return bits_to_float(bits | 1);
}

// a + b rounded to odd.
inline double odd_sum(double a, double b) {
  const double sum = a + b;
  if (!(std::fabs(sum) < std::numeric_limits<double>::infinity())) return sum;
  const double of_b = sum - a;
  const double error = (a - (sum - of_b)) + (b - of_b);
  if (error == 0 || (std::bit_cast<uint64_t>(sum) & 1)) return sum;
  return std::nextafter(
      sum, error > 0 ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity());
}

struct Half {
  static float to_float(uint16_t bits) { return half_to_float(bits); }
  static uint16_t from(double value) { return float_to_half(round_to_odd(value)); }
};
struct BFloat {
  static float to_float(uint16_t bits) { return bfloat_to_float(bits); }
  static uint16_t from(double value) { return float_to_bfloat(round_to_odd(value)); }
};

// tf32: a float whose lower 13 bits do not count.
inline constexpr uint32_t kTf32Mask = ~0x1FFFu;
inline float tf32_operand(uint32_t bits) { return bits_to_float(bits & kTf32Mask); }
inline bool is_finite(float value) { return (float_to_bits(value) & 0x7F800000u) != 0x7F800000u; }
inline float to_tf32_ties_away(float value) {
  return is_finite(value) ? bits_to_float((float_to_bits(value) + 0x1000) & kTf32Mask) : value;
}
inline float to_tf32_ties_even(float value) {
  const uint32_t bits = float_to_bits(value);
  return is_finite(value) ? bits_to_float((bits + 0xFFF + (bits >> 13 & 1)) & kTf32Mask) : value;
}

// .ftz: subnormal numbers become zeros of their sign.
inline float flush_subnormal(float value) {
  const uint32_t bits = float_to_bits(value);
  return bits_to_float(bits & 0x7F800000u ? bits : bits & 0x80000000u);
}
inline double flush_subnormal(double value) { return value; }  // doubles have no .ftz

// .sat: to [0, 1]; NaN becomes 0.
template <class T>
T saturate(T value) {
  return value > 0 ? (value < 1 ? value : T{1}) : T{0};
}

// min and max of the ISA: a NaN is ignored, and -0 < +0.
template <class T>
T least_of(T a, T b) {
  if (a != a) return b == b ? b : std::numeric_limits<T>::quiet_NaN();
  if (b != b) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <class T>
T greatest_of(T a, T b) {
  if (a != a) return b == b ? b : std::numeric_limits<T>::quiet_NaN();
  if (b != b) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

}  // namespace ptx
