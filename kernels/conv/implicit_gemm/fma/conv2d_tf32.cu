// The convolutions by multiply-adds of vector registers in tf32.
#include <rondo/kernels/conv/implicit_gemm/fma/conv2d_fma.cuh>

namespace rondo {

RONDO_CONV2D_FMA(Arithmetic::tf32)

}  // namespace rondo
