// Conversions with a rounding mode: __float2int_rn() and similar functions.
//
// To integers they saturate; a C++ cast would be undefined. NaN becomes 0 from float to 32 bits, and else the
// integer with only the top bit set (PTX ISA, "cvt").
#pragma once

#include <simt/rounding.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace simt::detail {

template <class To, class From>
To to_integer(From whole) {
  using Limits = std::numeric_limits<To>;
  if (whole != whole)
    return sizeof(From) == 4 && sizeof(To) == 4
               ? To{0}
               : static_cast<To>(std::make_unsigned_t<To>{1} << (8 * sizeof(To) - 1));
  const From beyond = std::ldexp(From{1}, Limits::digits);  // the first value that is too large
  if (whole >= beyond) return Limits::max();
  if (whole <= (Limits::is_signed ? -beyond : From{0})) return Limits::min();
  return static_cast<To>(whole);
}

}  // namespace simt::detail

#define SIMT_TO_INTEGER(from, From, to, To)                                                          \
  inline To __##from##2##to##_rn(From x) { return simt::detail::to_integer<To>(std::nearbyint(x)); } \
  inline To __##from##2##to##_rz(From x) { return simt::detail::to_integer<To>(std::trunc(x)); }     \
  inline To __##from##2##to##_ru(From x) { return simt::detail::to_integer<To>(std::ceil(x)); }      \
  inline To __##from##2##to##_rd(From x) { return simt::detail::to_integer<To>(std::floor(x)); }
SIMT_TO_INTEGER(float, float, int, int)
SIMT_TO_INTEGER(float, float, uint, unsigned)
SIMT_TO_INTEGER(float, float, ll, long long)
SIMT_TO_INTEGER(float, float, ull, unsigned long long)
SIMT_TO_INTEGER(double, double, int, int)
SIMT_TO_INTEGER(double, double, uint, unsigned)
SIMT_TO_INTEGER(double, double, ll, long long)
SIMT_TO_INTEGER(double, double, ull, unsigned long long)
#undef SIMT_TO_INTEGER

#define SIMT_TO_FLOAT_BY(from, From, to, To, suffix, mode)                                \
  inline To __##from##2##to##_##suffix(From x) {                                          \
    return simt::detail::rounded<mode, To>([](From y) { return static_cast<To>(y); }, x); \
  }
#define SIMT_TO_FLOAT(from, From, to, To)                 \
  SIMT_TO_FLOAT_BY(from, From, to, To, rn, FE_TONEAREST)  \
  SIMT_TO_FLOAT_BY(from, From, to, To, rz, FE_TOWARDZERO) \
  SIMT_TO_FLOAT_BY(from, From, to, To, ru, FE_UPWARD)     \
  SIMT_TO_FLOAT_BY(from, From, to, To, rd, FE_DOWNWARD)
SIMT_TO_FLOAT(int, int, float, float)
SIMT_TO_FLOAT(uint, unsigned, float, float)
SIMT_TO_FLOAT(ll, long long, float, float)
SIMT_TO_FLOAT(ull, unsigned long long, float, float)
SIMT_TO_FLOAT(ll, long long, double, double)
SIMT_TO_FLOAT(ull, unsigned long long, double, double)
SIMT_TO_FLOAT(double, double, float, float)
#undef SIMT_TO_FLOAT
#undef SIMT_TO_FLOAT_BY
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }

inline int __double2hiint(double x) { return static_cast<int>(std::bit_cast<uint64_t>(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(std::bit_cast<uint64_t>(x)); }
inline double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 |
                               static_cast<uint32_t>(low));
}
