// The kernels that measure the peaks of tensor cores: products of operands that are loaded once.
//
// Each warp (mma.sync) or warpgroup (wgmma) multiplies the same small matrices `length` times, and adds the
// products in registers. The operands are values of the caller, because a GPU draws less power with zeros
// than with real data. Each thread writes the sum of its results to sums[i], so that the compiler cannot
// remove the work.
#pragma once

#include <rondo/kernels/core/arithmetic.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

#include <cstdint>

namespace rondo::bench {

inline constexpr int kTensorThreads = 256;                // of a block
inline constexpr int64_t kTensorOperandBytes = 48 << 10;  // of packed values of the arithmetic's type

// FLOP of a block in each of the `length` steps, two per multiply-add.
double mma_chains_flops(Arithmetic arithmetic);
double wgmma_chains_flops(Arithmetic arithmetic);

// `operands`: kTensorOperandBytes of float (tf32), bfloat16 or float16 values. sums.size is
// blocks * kTensorThreads. `arithmetic`: tf32, bf16 or fp16. Errors: bad_argument for another arithmetic or
// size, or if the device does not have the instructions.
[[nodiscard]] Status mma_chains(VectorView<float> sums, const void* operands, Arithmetic arithmetic,
                                int64_t blocks, int length, cudaStream_t stream);
[[nodiscard]] Status wgmma_chains(VectorView<float> sums, const void* operands, Arithmetic arithmetic,
                                  int64_t blocks, int length, cudaStream_t stream);

}  // namespace rondo::bench
