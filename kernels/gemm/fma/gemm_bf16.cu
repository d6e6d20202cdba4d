// The products by multiply-adds of vector registers in bf16.
#include <rondo/kernels/gemm/fma/gemm_fma.cuh>

namespace rondo {

RONDO_GEMM_FMA(Arithmetic::bf16, __nv_bfloat16)
RONDO_GEMM_FMA(Arithmetic::bf16, float)

}  // namespace rondo
