// The products by multiply-adds in fp32.
#include <rondo/kernels/gemm/fma/gemm_fma.cuh>

namespace rondo {

RONDO_GEMM_FMA(Arithmetic::fp32, float)

}  // namespace rondo
