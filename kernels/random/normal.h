// Computes two standard normal numbers from two random words, with the same bits on a GPU and on a CPU.
//
// Box and Muller (1958): sqrt(-2 log u) (cos(2 pi t), sin(2 pi t)) is normal for uniform u in (0, 1) and t in
// [0, 1). The logarithm, sine and cosine of math libraries differ between platforms. They are therefore
// computed here and in core/elementary.h, with operations that IEEE 754 rounds correctly. Every fused
// multiply-add is an explicit fmaf, and no product remains that a compiler could fuse with a sum. The
// polynomials interpolate at Chebyshev nodes. Compared with the exact transform of the same words, the error
// of each number is below 1e-6 (tested; the largest observed is 7.2e-7).
#pragma once

#include <cuda_runtime.h>

#include <rondo/kernels/core/elementary.h>

#include <cmath>
#include <cstdint>

namespace rondo {

// log(u) for u = (word + 1/2) / 2^32, in (0, 1). With u = (1 + r) 2^e and 1 + r in [sqrt(1/2), sqrt(2)), the
// result is e log 2 + r + r^2 p(r). Near u = 1 the logarithm is small; there r = u - 1 is computed from the
// complement of the word, which avoids cancellation.
__host__ __device__ inline float log_of_uniform(uint32_t word) {
  int32_t e = 0;
  float r;
  if (word >= 3u << 30) {
    r = -fmaf(static_cast<float>(~word), 0x1p-32f, 0x1p-33f);
  } else {
    const auto bits = __builtin_bit_cast(int32_t, fmaf(static_cast<float>(word), 0x1p-32f, 0x1p-33f));
    e = (bits - kSqrtHalfBits) >> 23;
    r = __builtin_bit_cast(float, bits - e * (1 << 23)) - 1.0f;
  }
  return log_of_parts(r, e);
}

struct Direction {
  float cos, sin;
};

// Cosine and sine of the angle word / 2^32 turns. The angle is split into the nearest quarter turn, which is
// exact, and a rest of at most an eighth of a turn.
__host__ __device__ inline Direction direction_of(uint32_t word) {
  const uint32_t quarter = (word + (1u << 29)) >> 30;  // 4 is equivalent to 0
  const auto rest = static_cast<int32_t>(word - (quarter << 30));
  const float turn = static_cast<float>(rest) * 0x1p-32f;
  const float z = turn * turn;
  float s = -75.4016113f;
  s = fmaf(s, z, 81.5925446f);
  s = fmaf(s, z, -41.3416634f);
  s = fmaf(s, z, 6.28318548f);
  s = s * turn;
  float c = 59.2201691f;
  c = fmaf(c, z, -85.4428482f);
  c = fmaf(c, z, 64.9393158f);
  c = fmaf(c, z, -19.7392082f);
  c = fmaf(c, z, 1.0f);
  switch (quarter & 3) {
    case 0:
      return {c, s};
    case 1:
      return {-s, c};
    case 2:
      return {-c, -s};
    default:
      return {s, -c};
  }
}

struct NormalPair {
  float first, second;
};

__host__ __device__ inline NormalPair normal_pair(uint32_t radius_word, uint32_t angle_word) {
  const float radius = sqrtf(-2.0f * log_of_uniform(radius_word));
  const Direction direction = direction_of(angle_word);
  return {radius * direction.cos, radius * direction.sin};
}

}  // namespace rondo
