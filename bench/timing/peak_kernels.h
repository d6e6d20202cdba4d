// The kernels of peaks() and bench_limits. They are as simple as possible, so that they measure the limits of
// the machine.
#pragma once

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo::bench {

// to[i] = from[i]. Here and below, the sizes must be equal and a multiple of kStreamMultiple.
inline constexpr int64_t kStreamMultiple = 4096;
[[nodiscard]] Status stream_copy(VectorView<float> to, VectorView<const float> from, cudaStream_t stream);

// to[i] = a[i] + factor * b[i], the triad of the STREAM benchmark (J. McCalpin).
[[nodiscard]] Status stream_triad(VectorView<float> to, VectorView<const float> a, VectorView<const float> b,
                                  float factor, cudaStream_t stream);

// Reads all of `from` and writes stream_read_sums(size) partial sums.
int64_t stream_read_sums(int64_t size);
[[nodiscard]] Status stream_read(VectorView<float> sums, VectorView<const float> from, cudaStream_t stream);

// Fused multiply-adds on registers: `blocks` blocks of kFmaThreads threads, each thread with
// fma_chains_per_thread() independent chains of `length` steps. Writes the sum of thread i's chains to
// sums[i], so that the compiler cannot remove the work.
inline constexpr int kFmaThreads = 256;
int fma_chains_per_thread();
[[nodiscard]] Status fma_chains(VectorView<float> sums, int64_t blocks, int length, cudaStream_t stream);

// Does nothing.
[[nodiscard]] Status empty_kernel(cudaStream_t stream);

}  // namespace rondo::bench
