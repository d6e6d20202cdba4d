// Conversions of vectors of halves by the processor's instructions, for kernels on the CPU executor.
// Compilers do not find them in loops of single conversions.
#pragma once

#include <rondo/kernels/core/loops.cuh>

#include <cuda_fp16.h>

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace rondo {

// to[i] = from[i] for i < N, at any alignment.
template <int N>
inline void convert_halves(float* __restrict__ to, const __half* __restrict__ from) {
#ifdef __F16C__
  if constexpr (N % 8 == 0) {
    RONDO_UNROLL
    for (int i = 0; i < N; i += 8)
      _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
    return;
  }
#endif
  for (int i = 0; i < N; ++i) to[i] = from[i];
}

}  // namespace rondo
