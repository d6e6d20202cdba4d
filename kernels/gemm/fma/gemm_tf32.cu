// The products by multiply-adds of vector registers in tf32.
#include <rondo/kernels/gemm/fma/gemm_fma.cuh>

namespace rondo {

RONDO_GEMM_FMA(Arithmetic::tf32, float)

}  // namespace rondo
