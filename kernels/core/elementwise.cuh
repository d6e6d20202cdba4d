// elementwise(): out[i] = operation(in0[i], in1[i], ...) over flat float arrays. All elementwise operators
// use it.
//
// The array is cut into slots (slots.cuh). An array that does not begin or end on a 16-byte boundary has one
// short slot at that end. All heads and tails are handled here. Arrays with different offsets from a 16-byte
// boundary cannot be loaded in packs together; they are processed element by element.
//
// `operation` is a functor with `__device__ float operator()(float...) const`. It reads the old out[i] only
// if out is also passed as an input. In place is allowed: a thread reads its elements before it writes them.
#pragma once

#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/slots.cuh>

namespace rondo {
namespace detail {

template <class Operation, class... Input>
__global__ void __launch_bounds__(slots::kThreads)
    elementwise_kernel(float* out, int64_t size, int lead, bool packed, Operation operation,
                       const Input*... in) {
  constexpr int N = slots::kSlotFloats;
  const int64_t first = slots::first_begin(lead);
#pragma unroll
  for (int slot = 0; slot < slots::kPerThread; ++slot) {
    const int64_t begin = first + slot * slots::kStep;
    const auto pack = [&] {
      Pack<float, N> result;
      [&](auto... packs) {
        RONDO_SIMD
        for (int j = 0; j < N; ++j) result.v[j] = operation(packs.v[j]...);
      }(load_pack<N>(in + begin)...);
      store_pack(out + begin, result);
    };
    slots::visit<N>(begin, size, packed, pack, [&](int64_t i) { out[i] = operation(in[i]...); });
  }
}

}  // namespace detail

template <class Operation, class... Input>
Status elementwise(const char* name, cudaStream_t stream, Operation operation, float* out, int64_t size,
                   const Input*... in) {
  const int lead = slots::lead_of(out);
  const bool packed = ((slots::lead_of(in) == lead) && ...);
  return launch(name, slots::shape_of(size, lead), stream, detail::elementwise_kernel<Operation, Input...>,
                out, size, lead, packed, operation, in...);
}

}  // namespace rondo
