// gemm() with the plan as an argument. gemm() chooses it; tests make their own, because large tiles, wgmma
// and copies pay only for large products.
#pragma once

#include <rondo/kernels/gemm/gemm_arguments.h>
#include <rondo/kernels/gemm/gemm_plan.h>

namespace rondo {

// T: float, __nv_bfloat16 or __half; C: T or float. `arguments` have been checked. The arithmetic of the tile
// is that of the arguments. `workspace` has workspace_bytes(shape, plan). A tile of wgmma supports the
// product after the plan's copies (wgmma_unsupported()). Errors: bad_argument for a tile that this build does
// not have, one of another arithmetic than the product,
//   and for stream-K with a cluster or in tf32x3.
template <class T, class C>
Status gemm_with_plan(const char* name, const GemmPlan& plan, GemmArgumentsOf<T, C> arguments,
                      Workspace workspace, cudaStream_t stream);

}  // namespace rondo
