// The launcher of gemm_tc_09_stream_k, with the tile and the number of blocks as arguments, which gemm()
// chooses.
#pragma once

#include <rondo/kernels/gemm/gemm_arguments.h>
#include <rondo/kernels/gemm/gemm_plan.h>

namespace rondo {

// T: float (the arithmetic is tf32), __nv_bfloat16 or __half; C: T or float. wgmma supports the product
// (gemm_plan.h). The tile is one of single blocks. `workspace` has stream_k_workspace_bytes(tile, blocks),
// with any contents.
template <class T, class C>
Status launch_gemm_stream_k(const char* name, WgmmaTileId tile, const GemmArgumentsOf<T, C>& arguments,
                            int blocks, Workspace workspace, cudaStream_t stream);

}  // namespace rondo
