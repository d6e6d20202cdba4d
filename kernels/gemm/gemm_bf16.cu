// gemm() of __nv_bfloat16 matrices.
#include <rondo/kernels/gemm/gemm_narrow.cuh>

namespace rondo {

RONDO_GEMM(__nv_bfloat16, __nv_bfloat16)
RONDO_GEMM(__nv_bfloat16, float)

}  // namespace rondo
