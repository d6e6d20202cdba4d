// Reproducible random numbers: the same on every device, for every launch shape, and on the CPU.
//
// Every number is a pure function of (seed, sequence, index), computed by the counter-based generator
// Philox4x32-10 (random/philox.h). No state is kept between calls. Different sequence numbers give
// independent sequences: use one for each tensor.
//
// Both functions: float32, 4-byte alignment. The results are bitwise reproducible, because only operations
// are used that IEEE 754 rounds correctly (+, *, fma, sqrt). Traffic: one write. Errors: bad_argument for a
// negative size, a null pointer with a size above zero, low > high, a negative stddev, or a bound that is not
// finite.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

struct RandomStream {
  uint64_t seed = 0;
  uint64_t sequence = 0;
};

// x[i] = low + u * (high - low), rounded once; u is a multiple of 2^-24 in [0, 1). Always x >= low. If
// low == 0 and high == 1, also x < high; otherwise the rounding may give x == high.
[[nodiscard]] Status fill_uniform(VectorView<float> x, float low, float high, RandomStream random,
                                  cudaStream_t stream);

// x[i] = mean + stddev * z, rounded once; z is standard normal, computed with the transform of Box and Muller
// (1958). |z| <= 6.8; the omitted tail has a probability of 1e-11. The error of z is below 1e-6, compared
// with the same transform in exact arithmetic (random/normal.h).
[[nodiscard]] Status fill_normal(VectorView<float> x, float mean, float stddev, RandomStream random,
                                 cudaStream_t stream);

}  // namespace rondo
