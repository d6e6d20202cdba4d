// Logarithm and exponential with the same bits on a GPU and on a CPU.
//
// Those of math libraries differ between platforms. These use operations that IEEE 754 rounds correctly.
// Every fused multiply-add is an explicit fmaf, and no product remains that a compiler could fuse with a sum.
// The polynomials interpolate at Chebyshev nodes.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

namespace rondo {

// sqrt(1/2) as bits: numbers between its multiples by powers of two have one exponent in the logarithms.
inline constexpr int32_t kSqrtHalfBits = 0x3F3504F3;

// log((1 + r) 2^e) for 1 + r in [sqrt(1/2), sqrt(2)): e log 2 + r + r^2 p(r).
__host__ __device__ inline float log_of_parts(float r, int32_t e) {
  float p = -0.0767364129f;
  p = fmaf(p, r, 0.127226725f);
  p = fmaf(p, r, -0.13127555f);
  p = fmaf(p, r, 0.142048553f);
  p = fmaf(p, r, -0.166266456f);
  p = fmaf(p, r, 0.200012341f);
  p = fmaf(p, r, -0.250007808f);
  p = fmaf(p, r, 0.333333313f);
  p = fmaf(p, r, -0.49999997f);
  return fmaf(static_cast<float>(e), 0.693147181f, fmaf(r * r, p, r));
}

// log(1 + x) for x from 0 to 2^31, or NaN. The relative error is below 3 * 2^-24 (tested), also near 0.
__host__ __device__ inline float log_of_one_plus(float x) {
  const int32_t e = (__builtin_bit_cast(int32_t, 1.0f + x) - kSqrtHalfBits) >> 23;
  const float scale = __builtin_bit_cast(float, (127 - e) * (1 << 23));  // 2^-e
  return log_of_parts(fmaf(x, scale, scale - 1.0f), e);
}

// log(x), of 0 minus infinity, of negative numbers and NaN NaN. The relative error is below 3 * 2^-24
// (tested).
__host__ __device__ inline float log_of(float x) {
  const bool subnormal = x < 0x1p-126f;
  // Unsigned, because the bits of negative numbers would overflow.
  const uint32_t bits = __builtin_bit_cast(uint32_t, subnormal ? x * 0x1p23f : x);
  const int32_t e = static_cast<int32_t>(bits - static_cast<uint32_t>(kSqrtHalfBits)) >> 23;
  const float m = __builtin_bit_cast(float, bits - (static_cast<uint32_t>(e) << 23));
  const float log = log_of_parts(m - 1.0f, subnormal ? e - 23 : e);
  constexpr float kInfinity = __builtin_huge_valf();
  if (x > 0 && x < kInfinity) return log;
  return x == 0 ? -kInfinity : x > 0 ? x : __builtin_nanf("");
}

// exp(x) for x from -104 to 89 or NaN. With n = x / log 2 rounded and r = x - n log 2, exp(x) = 2^n exp(r).
__host__ __device__ inline float exp_in_range(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, in the lowest bits
  const float shifted = fmaf(x, 1.44269502f, kRound);
  const float n = shifted - kRound;
  const float r = fmaf(n, 1.90465421e-09f, fmaf(n, -0.693147182f, x));
  float p = 0.00139261759f;
  p = fmaf(p, r, 0.00836317334f);
  p = fmaf(p, r, 0.0416665561f);
  p = fmaf(p, r, 0.166665778f);
  p = fmaf(p, r, 0.5f);
  p = fmaf(p, r, 1.0f);
  p = fmaf(p, r, 1.0f);
  // 2^n in two factors, because it may be below the smallest normal number, or above the largest.
  const int32_t power = __builtin_bit_cast(int32_t, shifted) - __builtin_bit_cast(int32_t, kRound);
  const int32_t half = power >> 1;
  const auto power_of_two = [](int32_t e) {
    return __builtin_bit_cast(float, static_cast<uint32_t>(127 + e) << 23);
  };
  return fmaf(p * power_of_two(half), power_of_two(power - half), 0.0f);  // a sum with it is not fused
}

// exp(x) for x <= 0 or NaN. The relative error is below 2 * 2^-24 (tested); below the smallest normal number
// the result is rounded once more.
__host__ __device__ inline float exp_of_negative(float x) {
  if (x < -104.0f) x = -104.0f;  // exp(x) is less than half of the smallest number; NaN stays NaN
  return exp_in_range(x);
}

// exp(x), with the same error. From 88.7228394 on it is infinity.
__host__ __device__ inline float exp_of(float x) { return exp_of_negative(x > 89.0f ? 89.0f : x); }

}  // namespace rondo
