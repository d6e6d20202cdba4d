// The products by multiply-adds of vector registers in fp16.
#include <rondo/kernels/gemm/fma/gemm_fma.cuh>

namespace rondo {

RONDO_GEMM_FMA(Arithmetic::fp16, __half)
RONDO_GEMM_FMA(Arithmetic::fp16, float)

}  // namespace rondo
