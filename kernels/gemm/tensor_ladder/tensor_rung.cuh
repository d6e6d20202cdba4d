// What the rungs of the ladder of tensor cores share.
#pragma once

#include <rondo/kernels/gemm/tensor_ladder/tensor_rung.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/ptx/mma.cuh>
#include <rondo/kernels/core/ptx/tf32.cuh>
#include <rondo/kernels/gemm/ladder/gemm_elements.cuh>

#include <type_traits>

namespace rondo {

// The elements in a register of a fragment of T matrices, and the K of a product.
template <class T>
inline constexpr int kPerRegister = 4 / sizeof(T);
template <class T>
inline constexpr int kProductK = 8 * kPerRegister<T>;

// A register of a fragment: one tf32, or the value of the lower k and that of the higher.
template <class T>
__device__ __forceinline__ unsigned fragment_register(const T (&values)[kPerRegister<T>]) {
  if constexpr (std::is_same_v<T, float>) {
    return ptx::to_tf32(values[0]);
  } else {
    static_assert(sizeof(T) == 2);
    const auto* bits = reinterpret_cast<const unsigned short*>(values);
    return bits[0] | static_cast<unsigned>(bits[1]) << 16;
  }
}

// Stores the lane's elements of M x N fragments of sums. `row` and `column` are those of its first element.
template <class T, int M, int N>
__device__ __forceinline__ void store_fragments(const GemmArgumentsOf<T>& p, int64_t row, int64_t column,
                                                const float (&sums)[M][N][4]) {
  RONDO_UNROLL
  for (int i = 0; i < M; ++i) RONDO_UNROLL
  for (int j = 0; j < N; ++j) RONDO_UNROLL
  for (int e = 0; e < 4; ++e)
    store_result_inside(p, row + 16 * i + e / 2 * 8, column + 8 * j + e % 2, sums[i][j][e]);
}

}  // namespace rondo
