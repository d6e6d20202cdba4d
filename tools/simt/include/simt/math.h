// CUDA device functions that <cmath> lacks: min and max, reciprocal square root, single rounded operations,
// conversions, bit operations. Those that the project uses or that its tests check.
#pragma once

#include <simt/builtins.h>
#include <simt/memory_access.h>

#include <math.h>

#include <bit>
#include <cstdint>
#include <cstdlib>

// min and max in the global namespace. With one NaN operand the result is the other operand, as in IEEE 754's
// minNum.
#define SIMT_MIN_MAX(A, B, RESULT)                                                                   \
  constexpr RESULT min(A a, B b) { return static_cast<RESULT>(a) < static_cast<RESULT>(b) ? a : b; } \
  constexpr RESULT max(A a, B b) { return static_cast<RESULT>(a) > static_cast<RESULT>(b) ? a : b; }
SIMT_MIN_MAX(int, int, int)
SIMT_MIN_MAX(unsigned, unsigned, unsigned)
SIMT_MIN_MAX(int, unsigned, unsigned)
SIMT_MIN_MAX(unsigned, int, unsigned)
SIMT_MIN_MAX(long, long, long)
SIMT_MIN_MAX(unsigned long, unsigned long, unsigned long)
SIMT_MIN_MAX(long, unsigned long, unsigned long)
SIMT_MIN_MAX(unsigned long, long, unsigned long)
SIMT_MIN_MAX(long long, long long, long long)
SIMT_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
SIMT_MIN_MAX(long long, unsigned long long, unsigned long long)
SIMT_MIN_MAX(unsigned long long, long long, unsigned long long)
#undef SIMT_MIN_MAX
#define SIMT_MIN_MAX(A, B, RESULT)                                                           \
  constexpr RESULT min(A a, B b) { return b != b ? a : static_cast<RESULT>(a) < b ? a : b; } \
  constexpr RESULT max(A a, B b) { return b != b ? a : static_cast<RESULT>(a) > b ? a : b; }
SIMT_MIN_MAX(float, float, float)
SIMT_MIN_MAX(double, double, double)
SIMT_MIN_MAX(float, double, double)
SIMT_MIN_MAX(double, float, double)
#undef SIMT_MIN_MAX

inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }  // NaN becomes 0
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }

// sin and cos of pi x. The exact argument reduction makes multiples of 1/2 exact.
inline void sincospi(double x, double* sine, double* cosine) {
  const double quarter_turns = nearbyint(2 * fmod(x, 2.0));
  const double angle = (fmod(x, 2.0) - quarter_turns / 2) * 3.14159265358979323846;
  const double s = sin(angle), c = cos(angle);
  switch (static_cast<int>(quarter_turns) & 3) {
    case 0:
      *sine = s, *cosine = c;
      break;
    case 1:
      *sine = c, *cosine = -s;
      break;
    case 2:
      *sine = -s, *cosine = -c;
      break;
    default:
      *sine = -c, *cosine = s;
      break;
  }
}
inline void sincospif(float x, float* sine, float* cosine) {
  double s, c;
  sincospi(x, &s, &c);
  *sine = static_cast<float>(s);
  *cosine = static_cast<float>(c);
}

// Rounds each operation separately: the compiler cannot contract it into an fma.
inline float __fadd_rn(float a, float b) {
  float sum = a + b;
  asm("" : "+x"(sum));
  return sum;
}
inline float __fmul_rn(float a, float b) {
  float product = a * b;
  asm("" : "+x"(product));
  return product;
}
inline float __fmaf_rn(float a, float b, float c) {
  simt::count_multiply_adds(1);
  return fmaf(a, b, c);
}

inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }

// Conversions to integers saturate and map NaN to 0; a C++ cast would be undefined.
inline int __float2int_rn(float x) {
  if (!(x == x)) return 0;
  const float rounded = nearbyintf(x);
  if (rounded >= 2147483648.0f) return INT32_MAX;
  if (rounded < -2147483648.0f) return INT32_MIN;
  return static_cast<int>(rounded);
}
inline int __float2int_rd(float x) { return __float2int_rn(floorf(x)); }
inline int __float2int_ru(float x) { return __float2int_rn(ceilf(x)); }
inline int __float2int_rz(float x) { return __float2int_rn(truncf(x)); }

inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }
inline int __ffsll(long long x) {
  return x == 0 ? 0 : std::countr_zero(static_cast<unsigned long long>(x)) + 1;
}
inline unsigned __brev(unsigned x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0F0F0F0Fu) | (x & 0x0F0F0F0Fu) << 4;
  return __builtin_bswap32(x);
}
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<int64_t>(a) * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}

// Selects four of the eight bytes b:a; the top bit of a selector nibble replicates the byte's sign bit
// instead.
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned choice = selector >> (4 * i) & 0xF;
    unsigned byte = static_cast<unsigned>(bytes >> (8 * (choice & 7))) & 0xFF;
    if (choice & 8) byte = byte & 0x80 ? 0xFF : 0;
    result |= byte << (8 * i);
  }
  return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (shift & 31));
}
