// Random numbers that are the same everywhere: on any device, with any launch shape, and on the CPU.
//
// Every number is a pure function of (seed, sequence, index), made by the counter-based generator
// Philox4x32-10 (random/philox.h). Nothing is stored between calls, and sequences with different numbers are
// independent: give every tensor its own.
//
// Both functions: float32, any alignment of 4 bytes; every bit of the result is promised, since only
// operations are used that IEEE 754 rounds correctly (+, *, fma, sqrt). Traffic: one write. Errors:
// bad_argument for a negative size, a null pointer with a size above zero, low > high, a negative standard
// stddev, or a bound that is not finite.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

struct RandomStream {
  uint64_t seed = 0;
  uint64_t sequence = 0;
};

// x[i] = low + u * (high - low), rounded once, with u a multiple of 2^-24 in [0, 1). So x >= low; x < high
// when low == 0 and high == 1, else x == high may come out of the rounding.
[[nodiscard]] Status fill_uniform(VectorView<float> x, float low, float high, RandomStream random,
                                  cudaStream_t stream);

// x[i] = mean + stddev * z, rounded once, with z from the standard normal distribution, by the transform
// of Box and Muller (1958). |z| <= 6.8: the tail beyond has a probability of 1e-11. Against the same
// transform in exact arithmetic z is within 1e-6 (random/normal.h).
[[nodiscard]] Status fill_normal(VectorView<float> x, float mean, float stddev, RandomStream random,
                                 cudaStream_t stream);

}  // namespace rondo
