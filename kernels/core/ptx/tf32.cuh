// tf32: a float with the 10 upper bits of the significand. Tensor cores ignore the lower 13 bits of a
// register, which truncates; to_tf32() rounds instead.
#pragma once

#include <cuda_runtime.h>

#ifdef __SIMT__
#include <bit>
#endif

namespace rondo::ptx {

// Rounds to nearest, ties away from zero. Values from 2^128 - 2^116 on become infinite. The lower 13 bits of
// the result are zero. A NaN stays one on the executor; on a GPU one that differs from infinity only in those
// bits becomes infinite. Needs sm_80.
__device__ __forceinline__ unsigned to_tf32(float x) {
#ifdef __SIMT__
  const unsigned bits = std::bit_cast<unsigned>(x);
  if ((bits & 0x7F800000u) == 0x7F800000u) return bits & 0x007FFFFFu ? 0x7FFFFFFFu : bits;
  return (bits + 0x1000u) & 0xFFFFE000u;
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  __trap();
  return 0;
#else
  unsigned result;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result) : "f"(x));
  return result;
#endif
}

}  // namespace rondo::ptx
