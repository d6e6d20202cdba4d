// CUDA device functions that <cmath> lacks: min and max, reciprocal square roots, multiples of pi, bit
// operations. Other headers have arithmetic with rounding modes (rounding.h), conversions (conversions.h),
// fast functions (fast_math.h), and operations on the bytes of a word (packed_bytes.h).
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
constexpr unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
constexpr unsigned umax(unsigned a, unsigned b) { return a > b ? a : b; }
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
inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
inline double rcbrt(double x) { return 1.0 / cbrt(x); }
inline float rhypotf(float x, float y) { return 1.0f / hypotf(x, y); }
inline double rhypot(double x, double y) { return 1.0 / hypot(x, y); }
inline double norm3d(double x, double y, double z) { return hypot(hypot(x, y), z); }
inline float norm3df(float x, float y, float z) { return static_cast<float>(norm3d(x, y, z)); }
inline double rnorm3d(double x, double y, double z) { return 1.0 / norm3d(x, y, z); }
inline float rnorm3df(float x, float y, float z) { return static_cast<float>(rnorm3d(x, y, z)); }
// The cumulative normal distribution.
inline double normcdf(double x) { return erfc(-x * 0.70710678118654752440) / 2; }
inline float normcdff(float x) { return static_cast<float>(normcdf(x)); }
inline float fdividef(float x, float y) { return x / y; }

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

inline double sinpi(double x) {
  double s, c;
  sincospi(x, &s, &c);
  return s;
}
inline double cospi(double x) {
  double s, c;
  sincospi(x, &s, &c);
  return c;
}
inline float sinpif(float x) { return static_cast<float>(sinpi(x)); }
inline float cospif(float x) { return static_cast<float>(cospi(x)); }

inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }

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
inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}
// Products of the low 24 bits.
inline int __mul24(int a, int b) {
  return static_cast<int>(static_cast<int64_t>(static_cast<int>(static_cast<unsigned>(a) << 8) >> 8) *
                          (static_cast<int>(static_cast<unsigned>(b) << 8) >> 8));
}
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xFFFFFF) * (b & 0xFFFFFF); }
// |a - b| + c.
inline unsigned __sad(int a, int b, unsigned c) {
  const int64_t difference = static_cast<int64_t>(a) - b;
  return static_cast<unsigned>(difference < 0 ? -difference : difference) + c;
}
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a < b ? b - a : a - b) + c; }
// Averages without overflow: rounded down, up.
inline int __hadd(int a, int b) { return static_cast<int>((static_cast<int64_t>(a) + b) >> 1); }
inline int __rhadd(int a, int b) { return static_cast<int>((static_cast<int64_t>(a) + b + 1) >> 1); }
inline unsigned __uhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<uint64_t>(a) + b) >> 1);
}
inline unsigned __urhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<uint64_t>(a) + b + 1) >> 1);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
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
