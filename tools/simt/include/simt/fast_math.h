// CUDA's fast functions: __expf() and so on. A GPU computes them with less accuracy; here they are as
// accurate as the C library's. <math.h> declares some of these names, without a definition.
#pragma once

#include <math.h>

inline float __expf(float x) noexcept { return expf(x); }
inline float __exp10f(float x) noexcept { return powf(10.0f, x); }
inline float __logf(float x) noexcept { return logf(x); }
inline float __log2f(float x) noexcept { return log2f(x); }
inline float __log10f(float x) noexcept { return log10f(x); }
inline float __powf(float x, float y) noexcept { return powf(x, y); }
inline float __sinf(float x) noexcept { return sinf(x); }
inline float __cosf(float x) noexcept { return cosf(x); }
inline float __tanf(float x) noexcept { return tanf(x); }
inline float __tanhf(float x) noexcept { return tanhf(x); }
inline void __sincosf(float x, float* sine, float* cosine) noexcept {
  *sine = sinf(x);
  *cosine = cosf(x);
}
// A GPU returns 0 for 2^126 < |y| < 2^128.
inline float __fdividef(float x, float y) noexcept { return x / y; }
