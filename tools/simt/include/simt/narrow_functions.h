// The functions of both 16-bit formats: __hadd(), __hfma2(), hexp(), comparisons, atomics. The result is that
// of float, rounded once.
#pragma once

#include <simt/atomics.h>
#include <simt/narrow_float.h>

#include <cmath>

#define SIMT_NARROW template <class Format>
#define SIMT_ONE simt::NarrowFloat<Format>
#define SIMT_TWO simt::NarrowFloat2<Format>

// name(a, b) of one value and name2(a, b) of two.
#define SIMT_NARROW_BINARY(name, expression)          \
  SIMT_NARROW SIMT_ONE name(SIMT_ONE a, SIMT_ONE b) { \
    const float x = a, y = b;                         \
    return expression;                                \
  }                                                   \
  SIMT_NARROW SIMT_TWO name##2(SIMT_TWO a, SIMT_TWO b) { return {name(a.x, b.x), name(a.y, b.y)}; }
SIMT_NARROW_BINARY(__hadd, x + y)
SIMT_NARROW_BINARY(__hsub, x - y)
SIMT_NARROW_BINARY(__hmul, x* y)
SIMT_NARROW_BINARY(__hadd_sat, std::fmin(std::fmax(x + y, 0.0f), 1.0f))
SIMT_NARROW_BINARY(__hmul_sat, std::fmin(std::fmax(x* y, 0.0f), 1.0f))
// With one NaN operand the other operand; __hmax_nan and __hmin_nan return NaN.
SIMT_NARROW_BINARY(__hmax, std::fmax(x, y))
SIMT_NARROW_BINARY(__hmin, std::fmin(x, y))
SIMT_NARROW_BINARY(__hmax_nan, x != x ? x : y != y ? y : std::fmax(x, y))
SIMT_NARROW_BINARY(__hmin_nan, x != x ? x : y != y ? y : std::fmin(x, y))
#undef SIMT_NARROW_BINARY
SIMT_NARROW SIMT_ONE __hdiv(SIMT_ONE a, SIMT_ONE b) { return a / b; }
SIMT_NARROW SIMT_TWO __h2div(SIMT_TWO a, SIMT_TWO b) { return a / b; }
SIMT_NARROW SIMT_ONE __hfma(SIMT_ONE a, SIMT_ONE b, SIMT_ONE c) {
  return std::fma(float{a}, float{b}, float{c});
}
SIMT_NARROW SIMT_TWO __hfma2(SIMT_TWO a, SIMT_TWO b, SIMT_TWO c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
SIMT_NARROW SIMT_ONE __hneg(SIMT_ONE a) { return -a; }
SIMT_NARROW SIMT_TWO __hneg2(SIMT_TWO a) { return -a; }
SIMT_NARROW SIMT_ONE __habs(SIMT_ONE a) { return SIMT_ONE::from_bits(a.bits & 0x7FFF); }
SIMT_NARROW SIMT_TWO __habs2(SIMT_TWO a) { return {__habs(a.x), __habs(a.y)}; }

// Comparisons of one value; of both, as 1.0 or 0.0 for each; whether both are true.
#define SIMT_NARROW_COMPARISON(name, condition)                                                \
  SIMT_NARROW bool __h##name(SIMT_ONE a, SIMT_ONE b) {                                         \
    const float x = a, y = b;                                                                  \
    return condition;                                                                          \
  }                                                                                            \
  SIMT_NARROW SIMT_TWO __h##name##2(SIMT_TWO a, SIMT_TWO b) {                                  \
    return {static_cast<float>(__h##name(a.x, b.x)), static_cast<float>(__h##name(a.y, b.y))}; \
  }                                                                                            \
  SIMT_NARROW bool __hb##name##2(SIMT_TWO a, SIMT_TWO b) {                                     \
    return __h##name(a.x, b.x) && __h##name(a.y, b.y);                                         \
  }
SIMT_NARROW_COMPARISON(eq, x == y)
SIMT_NARROW_COMPARISON(ne, x<y || x> y)
SIMT_NARROW_COMPARISON(lt, x < y)
SIMT_NARROW_COMPARISON(le, x <= y)
SIMT_NARROW_COMPARISON(gt, x > y)
SIMT_NARROW_COMPARISON(ge, x >= y)
#undef SIMT_NARROW_COMPARISON
SIMT_NARROW bool __hisnan(SIMT_ONE a) { return std::isnan(float{a}); }
SIMT_NARROW int __hisinf(SIMT_ONE a) { return std::isinf(float{a}) ? (float{a} > 0 ? 1 : -1) : 0; }

// hexp(a) and h2exp(a).
#define SIMT_NARROW_FUNCTION(name, expression) \
  SIMT_NARROW SIMT_ONE h##name(SIMT_ONE a) {   \
    const float x = a;                         \
    return static_cast<float>(expression);     \
  }                                            \
  SIMT_NARROW SIMT_TWO h2##name(SIMT_TWO a) { return {h##name(a.x), h##name(a.y)}; }
SIMT_NARROW_FUNCTION(exp, std::exp(x))
SIMT_NARROW_FUNCTION(exp2, std::exp2(x))
SIMT_NARROW_FUNCTION(exp10, std::pow(10.0f, x))
SIMT_NARROW_FUNCTION(log, std::log(x))
SIMT_NARROW_FUNCTION(log2, std::log2(x))
SIMT_NARROW_FUNCTION(log10, std::log10(x))
SIMT_NARROW_FUNCTION(sin, std::sin(x))
SIMT_NARROW_FUNCTION(cos, std::cos(x))
SIMT_NARROW_FUNCTION(tanh, std::tanh(x))
SIMT_NARROW_FUNCTION(sqrt, std::sqrt(x))
SIMT_NARROW_FUNCTION(rsqrt, 1 / std::sqrt(x))
SIMT_NARROW_FUNCTION(rcp, 1 / x)
SIMT_NARROW_FUNCTION(floor, std::floor(x))
SIMT_NARROW_FUNCTION(ceil, std::ceil(x))
SIMT_NARROW_FUNCTION(trunc, std::trunc(x))
SIMT_NARROW_FUNCTION(rint, std::nearbyint(x))
#undef SIMT_NARROW_FUNCTION

SIMT_NARROW float __low2float(SIMT_TWO a) { return a.x; }
SIMT_NARROW float __high2float(SIMT_TWO a) { return a.y; }

// Relaxed, as all atomics. Of two values each is atomic on its own in CUDA; here both together are.
SIMT_NARROW SIMT_ONE atomicAdd(SIMT_ONE* address, SIMT_ONE value) {
  return simt::detail::atomic_update(address, [value](SIMT_ONE old) { return old + value; });
}
SIMT_NARROW SIMT_TWO atomicAdd(SIMT_TWO* address, SIMT_TWO value) {
  return simt::detail::atomic_update(address, [value](SIMT_TWO old) { return old + value; });
}
#undef SIMT_NARROW
#undef SIMT_ONE
#undef SIMT_TWO
