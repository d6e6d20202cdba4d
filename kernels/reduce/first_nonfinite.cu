// Each thread checks several elements in ascending order and reports the first NaN or infinity with one
// integer atomic. Arrays are nearly always finite, so atomics are rare.

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/reduce/first_nonfinite.h>
#include <rondo/kernels/core/launch.cuh>

namespace rondo {
namespace {

constexpr int kThreads = 256;
constexpr int kPerThread = 8;

template <class T>
__global__ void __launch_bounds__(kThreads)
    first_nonfinite_kernel(unsigned long long* index, const T* x, int64_t size) {
  constexpr unsigned kExponent = 0x7f800000u;  // the exponent bits: all ones for infinity and NaN
  const int64_t first = static_cast<int64_t>(blockIdx.x) * (kThreads * kPerThread) + threadIdx.x;
  for (int step = 0; step < kPerThread; ++step) {
    const int64_t i = first + step * kThreads;
    if (i >= size) return;
    if ((__float_as_uint(static_cast<float>(x[i])) & kExponent) == kExponent) {
      atomicMin(index, static_cast<unsigned long long>(i));
      return;
    }
  }
}

template <class T>
Status launch_first_nonfinite(VectorView<unsigned long long> index, VectorView<const T> x, bool keep,
                              cudaStream_t stream) {
  ArgumentCheck check("first_nonfinite");
  check.output("index", index);
  check.input("x", x);
  check.require(index.size == 1, "index.size is ", index.size, ", must be 1");
  RONDO_RETURN_IF_ERROR(check.status());
  LaunchShape shape;
  shape.grid_x = ceil_div<int64_t>(x.size, kThreads * kPerThread);
  shape.block_x = kThreads;
  RONDO_RETURN_IF_ERROR(check_grid("first_nonfinite", shape));
  if (!keep) RONDO_CUDA(cudaMemsetAsync(index.data, 0xff, sizeof(kAllFinite), stream));
  return launch("first_nonfinite", shape, stream, first_nonfinite_kernel<T>, index.data, x.data, x.size);
}

}  // namespace

Status first_nonfinite(VectorView<unsigned long long> index, VectorView<const float> x, bool keep,
                       cudaStream_t stream) {
  return launch_first_nonfinite(index, x, keep, stream);
}

Status first_nonfinite(VectorView<unsigned long long> index, VectorView<const __nv_bfloat16> x, bool keep,
                       cudaStream_t stream) {
  return launch_first_nonfinite(index, x, keep, stream);
}

}  // namespace rondo
