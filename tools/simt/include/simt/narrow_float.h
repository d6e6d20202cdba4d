// 16-bit floats for <cuda_fp16.h> and <cuda_bf16.h>: stored as bits, computed as float, rounded to nearest
// (ties to even) after every operation.
#pragma once

#include <simt/builtins.h>

#ifdef __AVX512FP16__
#include <immintrin.h>
#endif

#include <bit>
#include <cmath>
#include <cstdint>

namespace simt {

struct HalfFormat {  // IEEE 754 binary16
#ifdef __AVX512FP16__
  // g++ 12 leaves out the rounding of vectors that are converted to _Float16 and back.
  static uint16_t from_float(float x) { return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT); }
  static float to_float(uint16_t bits) { return _cvtsh_ss(bits); }
#else
  static uint16_t from_float(float x) { return std::bit_cast<uint16_t>(static_cast<_Float16>(x)); }
  static float to_float(uint16_t bits) { return static_cast<float>(std::bit_cast<_Float16>(bits)); }
#endif
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
