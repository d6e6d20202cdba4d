// The convolutions by multiply-adds of vector registers in fp16.
#include <rondo/kernels/conv/implicit_gemm/fma/conv2d_fma.cuh>

namespace rondo {

RONDO_CONV2D_FMA(Arithmetic::fp16)

}  // namespace rondo
