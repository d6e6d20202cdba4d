// The products by mma.sync in tf32.
#include <rondo/kernels/gemm/mma/gemm_mma.cuh>

namespace rondo {

RONDO_GEMM_MMA(Arithmetic::tf32, float)

}  // namespace rondo
