// The products by wgmma in fp16.
#include <rondo/kernels/gemm/wgmma/gemm_wgmma.cuh>

namespace rondo {

RONDO_GEMM_WGMMA(Arithmetic::fp16, __half)
RONDO_GEMM_WGMMA(Arithmetic::fp16, float)

}  // namespace rondo
