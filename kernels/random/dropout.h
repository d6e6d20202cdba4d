// Inverted dropout (Srivastava et al., 2014): kept elements are scaled up in training; evaluation does
// nothing.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

#include <cstdint>

namespace rondo {

// Selects the random numbers of one layer in one step. A number is a pure function of (seed, layer, *step,
// index), so no mask is stored: backward computes the same mask again, and a shard of a batch gets the same
// numbers as its part of the whole batch.
struct DropoutStream {
  uint64_t seed = 0;
  uint32_t layer = 0;             // distinguishes the layers of a network
  const int64_t* step = nullptr;  // device memory, aligned to 8; only the low 32 bits are used
  int64_t first = 0;              // index of element 0 in the tensor of the whole batch
};

// y[i] = u(first + i) < probability ? 0 : x[i] / (1 - probability),   u uniform in [0, 1) in steps of 2^-24
//
// The random words are the (index / 4)-th block of the sequence 2^32 * layer + step (random/philox.h). Used
// for forward and backward: dx = dropout(dy) with the same DropoutStream. x and y: float32, bfloat16 or
// float16, aligned to the elements; accesses of 16 bytes if the alignment allows it. One rounding to float:
// the product of x and 1 / (1 - probability), which is rounded once itself; and one to 16 bits. A dropped
// element is +0 even if x is NaN or infinite. y may be x, otherwise they must not overlap. Errors:
// bad_argument for different sizes, null or misaligned pointers, an overlap, `first` outside [0, 2^57], a
// probability outside [0, 1). Traffic: one read, one write.
template <ValueType T = float>
[[nodiscard]] Status dropout(VectorView<T> y, NonDeduced<VectorView<const T>> x, float probability,
                             const DropoutStream& random, cudaStream_t stream);

}  // namespace rondo
