// The transforms of Winograd's minimal filtering F(2 x 2, 3 x 3): 4 outputs of a 3 x 3 filter cost 16
// products instead of 36. With * for the elementwise product,
//
//   y  = A^T [ (G g G^T) * (B^T d B) ] A     d: the 4 x 4 inputs of 2 x 2 outputs y; g: the filter
//   dg = G^T [ (A dy A^T) * (B^T d B) ] G    the gradient of the same formula
//
//         | 1  0 -1  0 |        |  1    0    0  |
//   B^T = | 0  1  1  0 |    G = | 1/2  1/2  1/2 |   A^T = | 1  1  1  0 |
//         | 0 -1  1  0 |        | 1/2 -1/2  1/2 |         | 0  1 -1 -1 |
//         | 0  1  0 -1 |        |  0    0    1  |
//
// The matrices contain only 0, +-1 and +-1/2, so the transforms consist of additions and halvings, with
// little rounding. Source: Lavin and Gray, "Fast algorithms for convolutional neural networks", CVPR 2016,
// after Winograd, "Arithmetic complexity of computations", 1980.
//
// Each function transforms along one axis; the callers apply it to rows, then to columns. A Vec has several
// channels, which are independent. The 4 x 4 results are called *frequencies* 0 to 15, in row-major order.
#pragma once

#include <rondo/kernels/core/vec.cuh>

namespace rondo::winograd {

inline constexpr int kFrequencies = 16;

template <int N>
using L = Vec<N>;

// B^T d
template <int N>
__device__ __forceinline__ void transform_input(L<N>& a, L<N>& b, L<N>& c, L<N>& d) {
  const L<N> sum = b + c, difference = c - b;
  a = a - c;
  d = b - d;
  b = sum;
  c = difference;
}

template <int N>
__device__ __forceinline__ void transform_input(L<N> (&v)[4][4]) {
  RONDO_UNROLL
  for (int j = 0; j < 4; ++j) transform_input<N>(v[0][j], v[1][j], v[2][j], v[3][j]);
  RONDO_UNROLL
  for (int i = 0; i < 4; ++i) transform_input<N>(v[i][0], v[i][1], v[i][2], v[i][3]);
}

// G g
template <int N>
__device__ __forceinline__ void transform_filter(L<N> (&to)[4], const L<N>& a, const L<N>& b, const L<N>& c) {
  L<N> ends = a + c, middle = b;
  ends.scale(0.5f), middle.scale(0.5f);
  to[0] = a;
  to[1] = ends + middle;
  to[2] = ends - middle;
  to[3] = c;
}

// Calls store(frequency, value) for each of the 16 frequencies.
template <int N, class Store>
__device__ __forceinline__ void transform_filter(const L<N> (&g)[3][3], Store store) {
  L<N> rows[3][4];  // one for each column of g
  RONDO_UNROLL
  for (int s = 0; s < 3; ++s) transform_filter<N>(rows[s], g[0][s], g[1][s], g[2][s]);
  RONDO_UNROLL
  for (int i = 0; i < 4; ++i) {
    L<N> frequencies[4];
    transform_filter<N>(frequencies, rows[0][i], rows[1][i], rows[2][i]);
    RONDO_UNROLL
    for (int j = 0; j < 4; ++j) store(i * 4 + j, frequencies[j]);
  }
}

// A^T m
template <int N>
__device__ __forceinline__ void to_output(L<N> (&to)[2], const L<N>& a, const L<N>& b, const L<N>& c,
                                          const L<N>& d) {
  to[0] = a + b + c;
  to[1] = b - c - d;
}

// load(frequency) returns the products of that frequency.
template <int N, class Load>
__device__ __forceinline__ void to_output(L<N> (&y)[2][2], Load load) {
  L<N> rows[4][2];  // one for each column of frequencies
  RONDO_UNROLL
  for (int j = 0; j < 4; ++j) to_output<N>(rows[j], load(j), load(4 + j), load(8 + j), load(12 + j));
  RONDO_UNROLL
  for (int i = 0; i < 2; ++i) {
    L<N> outputs[2];
    to_output<N>(outputs, rows[0][i], rows[1][i], rows[2][i], rows[3][i]);
    y[i][0] = outputs[0], y[i][1] = outputs[1];
  }
}

// A dy
template <int N>
__device__ __forceinline__ void transform_output_gradient(L<N> (&to)[4], const L<N>& a, const L<N>& b) {
  to[0] = a;
  to[1] = a + b;
  to[2] = a - b;
  to[3] = L<N>::zero() - b;
}

template <int N, class Store>
__device__ __forceinline__ void transform_output_gradient(const L<N> (&dy)[2][2], Store store) {
  L<N> rows[2][4];  // one for each column of dy
  RONDO_UNROLL
  for (int q = 0; q < 2; ++q) transform_output_gradient<N>(rows[q], dy[0][q], dy[1][q]);
  RONDO_UNROLL
  for (int i = 0; i < 4; ++i) {
    L<N> frequencies[4];
    transform_output_gradient<N>(frequencies, rows[0][i], rows[1][i]);
    RONDO_UNROLL
    for (int j = 0; j < 4; ++j) store(i * 4 + j, frequencies[j]);
  }
}

// G^T u
template <int N>
__device__ __forceinline__ void to_filter(L<N> (&to)[3], const L<N>& a, const L<N>& b, const L<N>& c,
                                          const L<N>& d) {
  L<N> sum = b + c, difference = b - c;
  sum.scale(0.5f), difference.scale(0.5f);
  to[0] = a + sum;
  to[1] = difference;
  to[2] = sum + d;
}

// Calls store(r, s, value) for each of the 9 taps.
template <int N, class Load, class Store>
__device__ __forceinline__ void to_filter(Load load, Store store) {
  L<N> rows[4][3];  // one for each column of frequencies
  RONDO_UNROLL
  for (int j = 0; j < 4; ++j) to_filter<N>(rows[j], load(j), load(4 + j), load(8 + j), load(12 + j));
  RONDO_UNROLL
  for (int r = 0; r < 3; ++r) {
    L<N> taps[3];
    to_filter<N>(taps, rows[0][r], rows[1][r], rows[2][r], rows[3][r]);
    RONDO_UNROLL
    for (int s = 0; s < 3; ++s) store(r, s, taps[s]);
  }
}

}  // namespace rondo::winograd
