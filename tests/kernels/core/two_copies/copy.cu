// A shared library with a kernel of the same name as that of another one. RONDO_COPY: the number of this one.
#include <rondo/kernels/core/launch.cuh>

#define RONDO_JOIN(a, b) a##b
#define RONDO_NAME(name, number) RONDO_JOIN(name, number)

namespace rondo::test {

template <class T>
__global__ void write_number(T* to) {
  to[threadIdx.x] = static_cast<T>(10 * RONDO_COPY + threadIdx.x);
}

Status RONDO_NAME(write_number_of_copy_, RONDO_COPY)(int* to) {
  return launch("write_number", {.block_x = 4}, nullptr, write_number<int>, to);
}

}  // namespace rondo::test
