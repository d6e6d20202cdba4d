// The launcher of rung 06, with its configuration as an argument. gemm() chooses the configuration. The rung
// itself uses the tile 128x128, or 64x64 if a block has too little shared memory.
#pragma once

#include <rondo/kernels/gemm/gemm_arguments.h>
#include <rondo/kernels/gemm/gemm_config.h>

namespace rondo {

template <class T, class C>
Order order_of_a(const GemmArgumentsOf<T, C>& arguments) {
  return arguments.transpose_a ? Order::mn_major : Order::k_major;
}

// The rung. `name` is the first word of its messages.
Status run_gemm_06(const char* name, MatrixView<float> c, MatrixView<const float> a,
                   MatrixView<const float> b, const GemmOptions& options, Workspace workspace,
                   cudaStream_t stream);

// `workspace` must have room for all parts of the sum over k. The arithmetic is that of config.tile.
Status launch_gemm_06(const char* name, const GemmArguments& arguments, const GemmConfig& config,
                      Workspace workspace, cudaStream_t stream);

// For launch_gemm_06(): the tiles of one arithmetic each. m and n are not zero.
Status launch_gemm_tf32(const char* name, const GemmArguments& arguments, const GemmConfig& config,
                        Workspace workspace, cudaStream_t stream);
Status launch_gemm_tf32x3(const char* name, const GemmArguments& arguments, const GemmConfig& config,
                          Workspace workspace, cudaStream_t stream);

}  // namespace rondo
