// One kernel for the wrapper of kernels/core/ptx/tf32.cuh; see cp_async.cu.
#include <rondo/kernels/core/ptx/tf32.cuh>

extern "C" {

__global__ void to_tf32(unsigned* to, float x) { *to = rondo::ptx::to_tf32(x); }
}
