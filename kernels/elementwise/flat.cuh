// elementwise_flat(): out[i] = operation(in0[i], in1[i], ...) over flat arrays of float or 16-bit elements.
// broadcast.cuh has matrices with gaps between their rows, and rows, columns and values for a whole matrix;
// elementwise() (elementwise.cuh) chooses.
//
// The array is cut into slots (slots.cuh). An array that does not begin or end on a 16-byte boundary has one
// short slot at that end. All heads and tails are handled here. Arrays whose elements of one slot do not all
// begin on a 16-byte boundary are processed element by element.
//
// `operation` is a functor with `__device__ float operator()(float...) const`. It reads the old out[i] only
// if out is also passed as an input. In place is allowed: a thread reads its elements before it writes them.
#pragma once

#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/slots.cuh>
#include <rondo/kernels/core/values.cuh>

#include <algorithm>

namespace rondo::detail {

// The elements of a slot or pack: the widest access to the narrowest of the arrays.
template <class... T>
inline constexpr int kSlotElements = std::max({kWidestValues<T>...});

template <class Operation, class Output, class... Input>
__global__ void __launch_bounds__(slots::kThreads)
    elementwise_kernel(Output* out, int64_t size, int lead, bool packed, Operation operation,
                       const Input*... in) {
  constexpr int N = kSlotElements<Output, Input...>;
  const int64_t first = slots::first_begin<N>(lead);
  RONDO_UNROLL_ON_GPU
  for (int slot = 0; slot < slots::kPerThread; ++slot) {
    const int64_t begin = first + slot * slots::kStepOf<N>;
    const auto pack = [&] {
      Values<N> result;
      [&](auto... packs) {
        RONDO_SIMD
        for (int j = 0; j < N; ++j) result.v[j] = operation(packs.v[j]...);
      }(load_values<N>(in + begin)...);
      store_values<N>(out + begin, result);
    };
    slots::visit<N>(begin, size, packed, pack, [&](int64_t i) {
      out[i] = static_cast<Output>(operation(static_cast<float>(in[i])...));
    });
  }
}

template <class Operation, class Output, class... Input>
Status elementwise_flat(const char* name, cudaStream_t stream, Operation operation, Output* out, int64_t size,
                        const Input*... in) {
  const auto [lead, packed] = slots::boundaries_of(in..., out);
  return launch(name, slots::shape_of<kSlotElements<Output, Input...>>(size, lead), stream,
                elementwise_kernel<Operation, Output, Input...>, out, size, lead, packed, operation, in...);
}

}  // namespace rondo::detail
