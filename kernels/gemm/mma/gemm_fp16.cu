// The products by mma.sync in fp16.
#include <rondo/kernels/gemm/mma/gemm_mma.cuh>

namespace rondo {

RONDO_GEMM_MMA(Arithmetic::fp16, __half)
RONDO_GEMM_MMA(Arithmetic::fp16, float)

}  // namespace rondo
