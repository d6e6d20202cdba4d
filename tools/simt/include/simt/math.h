// CUDA device functions that <cmath> lacks: min and max, fast math, bit operations, loads and stores with
// cache hints.
#pragma once

#include <simt/builtins.h>
#include <simt/memory_access.h>

#include <math.h>

#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

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

// The fast functions are as exact as the ordinary ones here. The C library declares these names, so they need
// C linkage.
extern "C" {
inline float __expf(float x) noexcept { return expf(x); }
inline float __exp10f(float x) noexcept { return powf(10.0f, x); }
inline float __logf(float x) noexcept { return logf(x); }
inline float __log2f(float x) noexcept { return log2f(x); }
inline float __log10f(float x) noexcept { return log10f(x); }
inline float __powf(float x, float y) noexcept { return powf(x, y); }
inline float __sinf(float x) noexcept { return sinf(x); }
inline float __cosf(float x) noexcept { return cosf(x); }
inline float __tanf(float x) noexcept { return tanf(x); }
inline void __sincosf(float x, float* sine, float* cosine) noexcept {
  *sine = sinf(x);
  *cosine = cosf(x);
}
}
inline float __tanhf(float x) { return tanhf(x); }
inline float __fdividef(float x, float y) { return x / y; }
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
inline float sinpif(float x) {
  float s, c;
  sincospif(x, &s, &c);
  return s;
}
inline float cospif(float x) {
  float s, c;
  sincospif(x, &s, &c);
  return c;
}

// Rounds each operation separately: the compiler cannot contract it into an fma.
inline float __fadd_rn(float a, float b) {
  float sum = a + b;
  asm("" : "+x"(sum));
  return sum;
}
inline float __fsub_rn(float a, float b) { return __fadd_rn(a, -b); }
inline float __fmul_rn(float a, float b) {
  float product = a * b;
  asm("" : "+x"(product));
  return product;
}
inline float __fmaf_rn(float a, float b, float c) {
  simt::count_multiply_adds(1);
  return fmaf(a, b, c);
}
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }

inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }

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

// Cache hints have no effect here.
#define SIMT_LOAD(NAME)             \
  template <class T>                \
  inline T NAME(const T* address) { \
    return *address;                \
  }
SIMT_LOAD(__ldg)
SIMT_LOAD(__ldca)
SIMT_LOAD(__ldcg)
SIMT_LOAD(__ldcs)
SIMT_LOAD(__ldcv)
SIMT_LOAD(__ldlu)
#undef SIMT_LOAD
#define SIMT_STORE(NAME)                                        \
  template <class T>                                            \
  inline void NAME(T* address, std::type_identity_t<T> value) { \
    *address = value;                                           \
  }
SIMT_STORE(__stcg)
SIMT_STORE(__stcs)
SIMT_STORE(__stwb)
SIMT_STORE(__stwt)
#undef SIMT_STORE

// A 1 GHz clock.
inline long long clock64() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
inline void __nanosleep(unsigned) {}
