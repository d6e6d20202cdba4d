// The products by mma.sync in bf16.
#include <rondo/kernels/gemm/mma/gemm_mma.cuh>

namespace rondo {

RONDO_GEMM_MMA(Arithmetic::bf16, __nv_bfloat16)
RONDO_GEMM_MMA(Arithmetic::bf16, float)

}  // namespace rondo
