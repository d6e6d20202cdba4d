// Each thread checks several slots (slots.cuh) and reports its first NaN or infinity with one integer atomic.
// Arrays are nearly always finite, so atomics are rare.

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/reduce/first_nonfinite.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/slots.cuh>
#include <rondo/kernels/core/values.cuh>

namespace rondo {
namespace {

constexpr unsigned kExponent = 0x7f800000u;  // the exponent bits: all ones for infinity and NaN

__device__ unsigned exponent_of(float x) { return __float_as_uint(x) & kExponent; }

template <class T>
__global__ void __launch_bounds__(slots::kThreads)
    first_nonfinite_kernel(unsigned long long* index, const T* x, int64_t size, int lead) {
  constexpr int N = kWidestValues<T>;
  const int64_t first = slots::first_begin<N>(lead);
  // A thread's slots are in ascending order, so it reports the first one that it finds.
  for (int slot = 0; slot < slots::kPerThread; ++slot) {
    const int64_t begin = first + slot * slots::kStepOf<N>;
    int64_t found = size;
    const auto element = [&](int64_t i) {
      if (found == size && exponent_of(static_cast<float>(x[i])) == kExponent) found = i;
    };
    const auto pack = [&] {
      const auto values = load_values<N>(x + begin);
      unsigned largest = 0;
      RONDO_SIMD
      for (int k = 0; k < N; ++k) largest = max(largest, exponent_of(values.v[k]));
      if (largest == kExponent)
        for (int k = 0; k < N; ++k) element(begin + k);
    };
    slots::visit<N>(begin, size, true, pack, element);
    if (found < size) {
      atomicMin(index, static_cast<unsigned long long>(found));
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
  const int lead = slots::lead_of(x.data);
  const LaunchShape shape = slots::shape_of<kWidestValues<T>>(x.size, lead);
  RONDO_RETURN_IF_ERROR(check_grid("first_nonfinite", shape));
  if (!keep) RONDO_CUDA(cudaMemsetAsync(index.data, 0xff, sizeof(kAllFinite), stream));
  return launch("first_nonfinite", shape, stream, first_nonfinite_kernel<T>, index.data, x.data, x.size,
                lead);
}

}  // namespace

template <InputType T>
Status first_nonfinite(VectorView<unsigned long long> index, VectorView<T> x, bool keep,
                       cudaStream_t stream) {
  return launch_first_nonfinite<std::remove_const_t<T>>(index, x, keep, stream);
}

#define RONDO_FIRST_NONFINITE(T) \
  template Status first_nonfinite<T>(VectorView<unsigned long long>, VectorView<T>, bool, cudaStream_t);
RONDO_FOR_INPUT_TYPES(RONDO_FIRST_NONFINITE)

}  // namespace rondo
