// The launcher of rung 06, with its configuration as an argument. gemm() chooses the configuration. The rung
// itself uses the tile 128x128, or 64x64 if a block has too little shared memory.
#pragma once

#include <rondo/kernels/gemm/gemm_arguments.h>
#include <rondo/kernels/gemm/gemm_config.h>

namespace rondo {

inline Order order_of_a(const GemmArguments& arguments) {
  return arguments.transpose_a ? Order::mn_major : Order::k_major;
}

// `workspace` must have room for all parts of the sum over k.
Status launch_gemm_06(const char* name, const GemmArguments& arguments, GemmConfig config,
                      Workspace workspace, cudaStream_t stream);

}  // namespace rondo
