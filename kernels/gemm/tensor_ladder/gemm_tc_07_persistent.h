// The launcher of gemm_tc_07_persistent and, for the tile kPairOf128x256, of gemm_tc_08_clusters, with the
// tile and the parts of k as arguments, which gemm() chooses. It is defined in gemm_tc_08_clusters.cuh.
#pragma once

#include <rondo/kernels/gemm/gemm_arguments.h>
#include <rondo/kernels/gemm/gemm_plan.h>

namespace rondo {

// T: float (the arithmetic is tf32), __nv_bfloat16 or __half; C: T or float. wgmma supports the product
// (gemm_plan.h), and `workspace` has room for all parts of the sum over k.
template <class T, class C>
Status launch_gemm_persistent(const char* name, WgmmaTileId tile, const GemmArgumentsOf<T, C>& arguments,
                              const GemmConfig& config, Workspace workspace, cudaStream_t stream);

// The same with tf32x3, whose only tile is k128x128.
Status launch_gemm_persistent_tf32x3(const char* name, const GemmArguments& arguments,
                                     const GemmConfig& config, Workspace workspace, cudaStream_t stream);

}  // namespace rondo
