// The convolutions by multiply-adds in fp32.
#include <rondo/kernels/conv/implicit_gemm/fma/conv2d_fma.cuh>

namespace rondo {

RONDO_CONV2D_FMA(Arithmetic::fp32)

}  // namespace rondo
