// The products by mma.sync in tf32x3.
#include <rondo/kernels/gemm/mma/gemm_mma.cuh>

namespace rondo {

RONDO_GEMM_MMA(Arithmetic::tf32x3, float)

}  // namespace rondo
