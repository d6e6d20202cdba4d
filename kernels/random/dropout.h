// Dropout (Srivastava et al., 2014), inverted: what is kept is scaled up in training, and evaluation does nothing.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

#include <cstdint>

namespace rondo {

// Which numbers a layer draws in a step. A number is a pure function of (seed, layer, *step, index), so that nothing is
// stored: backward draws the same mask again, and a shard of a batch draws what the whole batch would have drawn there.
struct DropoutStream {
  uint64_t seed = 0;
  uint32_t layer = 0;             // tells the layers of a network apart
  const int64_t* step = nullptr;  // device memory, aligned to 8: its low 32 bits count
  int64_t first = 0;              // the index, in the whole batch's tensor, of element 0 here
};

// y[i] = u(first + i) < probability ? 0 : x[i] / (1 - probability),   u uniform in [0, 1) in steps of 2^-24
//
// (random/philox.h; the index / 4-th block of the sequence 2^32 layer + step.) Forward, and backward too: dx = dropout(dy)
// with the same stream. float32, one rounding (x * (1 / (1 - probability)), the factor rounded once); a dropped element
// is +0 even where x is NaN or infinite. y may be x, else they must not overlap. Errors: bad_argument for sizes that
// differ, null or misaligned pointers, an overlap, a `first` outside [0, 2^57], a probability outside [0, 1).
// Traffic: one read, one write.
[[nodiscard]] Status dropout(VectorView<float> y, VectorView<const float> x, float probability,
                             const DropoutStream& random, cudaStream_t stream);

}  // namespace rondo
