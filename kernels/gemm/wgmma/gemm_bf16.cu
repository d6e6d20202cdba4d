// The products by wgmma in bf16.
#include <rondo/kernels/gemm/wgmma/gemm_wgmma.cuh>

namespace rondo {

RONDO_GEMM_WGMMA(Arithmetic::bf16, __nv_bfloat16)
RONDO_GEMM_WGMMA(Arithmetic::bf16, float)

}  // namespace rondo
