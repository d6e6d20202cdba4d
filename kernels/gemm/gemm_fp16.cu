// gemm() of __half matrices.
#include <rondo/kernels/gemm/gemm_narrow.cuh>

namespace rondo {

RONDO_GEMM(__half, __half)
RONDO_GEMM(__half, float)

}  // namespace rondo
