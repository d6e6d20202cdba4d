// One kernel for each wrapper of kernels/core/ptx/cp_async.cuh. wrappers.py compares the PTX of each with the
// instruction in cp_async.ptx, whose operands have the names of the kernel's parameters.
#include <rondo/kernels/core/ptx/cp_async.cuh>

namespace {

template <int Bytes>
__device__ void copy(unsigned to, const void* from, bool valid) {
  extern __shared__ __align__(16) unsigned char shared[];
  rondo::ptx::cp_async<Bytes>(shared + to, from, valid);
}

}  // namespace

extern "C" {

__global__ void cp_async_4(unsigned to, const void* from, bool valid) { copy<4>(to, from, valid); }
__global__ void cp_async_8(unsigned to, const void* from, bool valid) { copy<8>(to, from, valid); }
__global__ void cp_async_16(unsigned to, const void* from, bool valid) { copy<16>(to, from, valid); }

__global__ void cp_async_commit() { rondo::ptx::cp_async_commit(); }
__global__ void cp_async_wait_0() { rondo::ptx::cp_async_wait<0>(); }
__global__ void cp_async_wait_1() { rondo::ptx::cp_async_wait<1>(); }
__global__ void cp_async_wait_2() { rondo::ptx::cp_async_wait<2>(); }
}
