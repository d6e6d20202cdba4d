// The products by wgmma in tf32.
#include <rondo/kernels/gemm/wgmma/gemm_wgmma.cuh>

namespace rondo {

RONDO_GEMM_WGMMA(Arithmetic::tf32, float)

}  // namespace rondo
