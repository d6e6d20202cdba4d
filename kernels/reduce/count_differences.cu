// Each thread compares several elements and, if any differ, adds their number with one integer atomic.
// Replicas are nearly always equal, so atomics are rare.

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/reduce/count_differences.h>
#include <rondo/kernels/core/launch.cuh>

namespace rondo {
namespace {

constexpr int kThreads = 256;
constexpr int kPerThread = 8;

__global__ void __launch_bounds__(kThreads)
    count_differences_kernel(unsigned long long* count, const float* a, const float* b, int64_t size) {
  const int64_t block_first = static_cast<int64_t>(blockIdx.x) * kThreads * kPerThread;
  unsigned long long differences = 0;
  for (int step = 0; step < kPerThread; ++step) {
    const int64_t i = block_first + step * kThreads + threadIdx.x;
    if (i < size && __float_as_uint(a[i]) != __float_as_uint(b[i])) ++differences;
  }
  if (differences > 0) atomicAdd(count, differences);
}

}  // namespace

Status count_differences(VectorView<unsigned long long> count, VectorView<const float> a,
                         VectorView<const float> b, cudaStream_t stream) {
  ArgumentCheck check("count_differences");
  check.output("count", count);
  check.input("a", a);
  check.input("b", b);
  check.require(count.size == 1, "count.size is ", count.size, ", must be 1");
  check.same_size("b", b, "a", a);
  RONDO_RETURN_IF_ERROR(check.status());
  return launch("count_differences", flat_shape(a.size, kThreads, kPerThread), stream,
                count_differences_kernel, count.data, a.data, b.data, a.size);
}

}  // namespace rondo
