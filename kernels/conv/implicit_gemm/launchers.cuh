// The launchers of the implicit GEMMs by multiply-adds and mma.sync. Each .cu file of fma/ and mma/ has those
// of one arithmetic, so that they are compiled side by side.
#pragma once

#include <rondo/kernels/conv/implicit_gemm/conv2d_kernel.cuh>
#include <rondo/kernels/conv/implicit_gemm/filter_gradient_kernel.cuh>

namespace rondo {

// kArithmetic: fp32; on the executor also tf32, bf16 and fp16.
template <Arithmetic kArithmetic>
Status launch_conv2d_fma(const char* name, ConvOperation operation, const TileId& tile,
                         Conv2dParameters<FactorOf<kArithmetic>>& p, cudaStream_t stream);
template <Arithmetic kArithmetic>
Status launch_filter_gradient_fma(const char* name, const TileId& tile,
                                  FilterGradientParameters<FactorOf<kArithmetic>>& p, int64_t splits,
                                  cudaStream_t stream);

// kArithmetic: tf32, tf32x3, bf16 or fp16.
template <Arithmetic kArithmetic>
Status launch_conv2d_mma(const char* name, ConvOperation operation, const TileId& tile,
                         Conv2dParameters<FactorOf<kArithmetic>>& p, cudaStream_t stream);
template <Arithmetic kArithmetic>
Status launch_filter_gradient_mma(const char* name, const TileId& tile,
                                  FilterGradientParameters<FactorOf<kArithmetic>>& p, int64_t splits,
                                  cudaStream_t stream);

}  // namespace rondo
