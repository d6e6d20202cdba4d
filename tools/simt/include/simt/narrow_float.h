// 16-bit floats for <cuda_fp16.h> and <cuda_bf16.h>: stored as bits, computed as float, rounded to nearest
// (ties to even) after every operation.
#pragma once

#include <simt/builtins.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace simt {

// IEEE 754 binary16, by operations on integers and floats, of which compilers make vectors: g++ 12 converts
// _Float16 one by one, and with AVX512-FP16 it leaves out the rounding of vectors that are converted to
// _Float16 and back. The results are those of the processor's instructions (vcvtps2ph, vcvtph2ps), NaNs too.
struct HalfFormat {
  static uint16_t from_float(float x) {
    constexpr uint32_t kExponents = 0x38000000;  // 112 exponents: 2^-14 has 113 in float, 1 here
    const uint32_t bits = std::bit_cast<uint32_t>(x), size = bits & 0x7FFFFFFF;
    // Below 2^-14 the result is a multiple of 2^-24, the spacing of floats from 1/2 to 1.
    const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3F000000;
    const uint32_t normal = (size - kExponents + 0xFFF + (size >> 13 & 1)) >> 13;
    const uint32_t finite = size < 0x38800000 ? subnormal : normal < 0x7C00 ? normal : 0x7C00;
    const uint32_t half = size > 0x7F800000 ? 0x7E00 | (size >> 13 & 0x1FF) : finite;
    return static_cast<uint16_t>((bits >> 16 & 0x8000) | half);
  }
  static float to_float(uint16_t half) {
    const uint32_t bits = half, size = bits & 0x7FFF;
    const uint32_t exponents = size < 0x7C00 ? 0x38000000 : 0x70000000;  // infinity and NaN: 224
    const uint32_t normal = ((size << 13) + exponents) | (size > 0x7C00 ? 0x400000 : 0);
    const float subnormal = static_cast<float>(static_cast<int32_t>(size)) * 0x1p-24f;
    const uint32_t value = size < 0x400 ? std::bit_cast<uint32_t>(subnormal) : normal;
    return std::bit_cast<float>(value | (bits & 0x8000) << 16);
  }
};

struct Bfloat16Format {  // the upper half of a float
  static uint16_t from_float(float x) {
    const uint32_t bits = std::bit_cast<uint32_t>(x);
    if ((bits & 0x7FFFFFFF) > 0x7F800000) return 0x7FFF;  // NaN
    return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
  }
  static float to_float(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

template <class Format>
struct NarrowFloat {
  uint16_t bits;

  NarrowFloat() = default;
  NarrowFloat(float x) : bits(Format::from_float(x)) {}
  explicit NarrowFloat(double x) : NarrowFloat(static_cast<float>(x)) {}
  explicit NarrowFloat(int x) : NarrowFloat(static_cast<float>(x)) {}
  operator float() const { return Format::to_float(bits); }

  static NarrowFloat from_bits(uint16_t bits) {
    NarrowFloat x;
    x.bits = bits;
    return x;
  }

  friend NarrowFloat operator+(NarrowFloat a, NarrowFloat b) { return float{a} + float{b}; }
  friend NarrowFloat operator-(NarrowFloat a, NarrowFloat b) { return float{a} - float{b}; }
  friend NarrowFloat operator*(NarrowFloat a, NarrowFloat b) { return float{a} * float{b}; }
  friend NarrowFloat operator/(NarrowFloat a, NarrowFloat b) { return float{a} / float{b}; }
  friend NarrowFloat operator-(NarrowFloat a) { return from_bits(a.bits ^ 0x8000); }
  NarrowFloat& operator+=(NarrowFloat b) { return *this = *this + b; }
  NarrowFloat& operator-=(NarrowFloat b) { return *this = *this - b; }
  NarrowFloat& operator*=(NarrowFloat b) { return *this = *this * b; }
  NarrowFloat& operator/=(NarrowFloat b) { return *this = *this / b; }
  friend bool operator==(NarrowFloat a, NarrowFloat b) { return float{a} == float{b}; }
  friend auto operator<=>(NarrowFloat a, NarrowFloat b) { return float{a} <=> float{b}; }
};

template <class Format>
struct alignas(4) NarrowFloat2 {
  NarrowFloat<Format> x, y;

  friend NarrowFloat2 operator+(NarrowFloat2 a, NarrowFloat2 b) { return {a.x + b.x, a.y + b.y}; }
  friend NarrowFloat2 operator-(NarrowFloat2 a, NarrowFloat2 b) { return {a.x - b.x, a.y - b.y}; }
  friend NarrowFloat2 operator*(NarrowFloat2 a, NarrowFloat2 b) { return {a.x * b.x, a.y * b.y}; }
  friend NarrowFloat2 operator/(NarrowFloat2 a, NarrowFloat2 b) { return {a.x / b.x, a.y / b.y}; }
  friend NarrowFloat2 operator-(NarrowFloat2 a) { return {-a.x, -a.y}; }
  NarrowFloat2& operator+=(NarrowFloat2 b) { return *this = *this + b; }
  NarrowFloat2& operator-=(NarrowFloat2 b) { return *this = *this - b; }
  NarrowFloat2& operator*=(NarrowFloat2 b) { return *this = *this * b; }
  NarrowFloat2& operator/=(NarrowFloat2 b) { return *this = *this / b; }
  friend bool operator==(NarrowFloat2 a, NarrowFloat2 b) { return a.x == b.x && a.y == b.y; }
};

}  // namespace simt
