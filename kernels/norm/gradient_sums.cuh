// The gradients of beta and gamma: the sums of g and of g * xhat over the rows of a matrix.
#pragma once

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/values.cuh>
#include <rondo/kernels/reduce/compensated_sum.cuh>

#include <cfloat>
#include <cstdint>

namespace rondo::norm {

// g and xhat of N columns, recomputed from the saved state of the forward pass.
template <int N>
struct Recovered {
  Values<N> g, xhat;
};

// The sums over the rows of a thread. They are compensated as floats for 16-bit values too, so that they have
// the bits of the sums of the same floats.
template <int N>
struct GradientSums {
  float g[N] = {}, g_rest[N] = {}, product[N] = {}, product_rest[N] = {};

  __device__ __forceinline__ void add(const Recovered<N>& r) {
    RONDO_SIMD
    for (int k = 0; k < N; ++k) {
      add_compensated<float>(g[k], g_rest[k], r.g.v[k]);
      add_compensated_product<float>(product[k], product_rest[k], r.g.v[k], r.xhat.v[k]);
    }
  }
  __device__ __forceinline__ double value(int s, int k) const {
    return s == 0 ? compensated_value(g[k], g_rest[k]) : compensated_value(product[k], product_rest[k]);
  }
  __device__ __forceinline__ unsigned out_of_range() const {
    unsigned bits = 0;
    RONDO_UNROLL
    for (int k = 0; k < N; ++k)
      if (!(fabsf(g[k]) <= FLT_MAX && fabsf(product[k]) <= FLT_MAX)) bits |= 1u << k;
    return bits;
  }
};

// A summand of columns::column_sums(). Recover has the number kWidest, and channel<N>(col), which returns an
// object whose recover(row) returns g and xhat of N columns of a row.
template <class Recover>
struct GradientSummand {
  using Value = double;
  static constexpr int kSums = 2, kRowThreads = 16, kWidest = Recover::kWidest;
  Recover recover;

  template <int N>
  using Partial = GradientSums<N>;
  template <int N>
  struct Channel {
    typename Recover::template Channel<N> of;

    __device__ __forceinline__ void add(GradientSums<N>& sums, int64_t row) const {
      sums.add(of.recover(row));
    }
    template <class Sums>
    __device__ __forceinline__ void add(Sums& sums, int64_t row) const {
      const Recovered<N> r = of.recover(row);
      const double g = r.g.v[0];
      sums.of[0][0] += g;
      sums.of[1][0] = fma(g, static_cast<double>(r.xhat.v[0]), sums.of[1][0]);
    }
  };
  template <int N>
  __device__ Channel<N> channel(int col) const {
    return {recover.template channel<N>(col)};
  }
};

// The gradients as floats: of beta sums[c], of gamma sums[channels + c]. Either may be null.
Status store_parameter_gradients(const char* name, float* gamma_gradient, float* beta_gradient,
                                 const double* sums, int64_t channels, cudaStream_t stream);

}  // namespace rondo::norm
