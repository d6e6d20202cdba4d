// elementwise(): out[i] = operation(in0[i], in1[i], ...) over flat float arrays, for every operator of that
// kind.
//
// The array is cut into slots of four floats at the 16-byte boundaries of memory, so that an array which
// begins or ends between two boundaries has one short slot at that end: this is the one place where a head
// and a tail are handled. Arrays that lie differently towards the boundaries cannot be loaded in packs
// together and go element by element.
//
// `operation` is a functor with `__device__ float operator()(float...) const`, and gets the old out[i] only
// when out is passed as an input too. In place is fine: a thread reads its elements before it writes them.
#pragma once

#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/pack.cuh>

namespace rondo {
namespace detail {

constexpr int kElementwiseThreads = 256;
constexpr int kSlotsPerThread = 4;

template <class Operation, class... Input>
__global__ void __launch_bounds__(kElementwiseThreads)
    elementwise_kernel(float* out, int64_t size, int lead, bool packed, Operation operation,
                       const Input*... in) {
  const int64_t first_slot =
      static_cast<int64_t>(blockIdx.x) * (kElementwiseThreads * kSlotsPerThread) + threadIdx.x;
#pragma unroll
  for (int slot = 0; slot < kSlotsPerThread; ++slot) {
    const int64_t begin = (first_slot + slot * kElementwiseThreads) * 4 - lead;
    if (packed && begin >= 0 && begin + 4 <= size) {
      Pack<float, 4> result;
      [&](auto... packs) {
#pragma unroll
        for (int j = 0; j < 4; ++j) result.v[j] = operation(packs.v[j]...);
      }(load_pack<4>(in + begin)...);
      store_pack(out + begin, result);
    } else {
      for (int j = 0; j < 4; ++j)
        if (begin + j >= 0 && begin + j < size) out[begin + j] = operation(in[begin + j]...);
    }
  }
}

}  // namespace detail

template <class Operation, class... Input>
Status elementwise(const char* name, cudaStream_t stream, Operation operation, float* out, int64_t size,
                   const Input*... in) {
  const auto floats_past_boundary = [](const float* p) {
    return reinterpret_cast<uintptr_t>(p) % 16 / sizeof(float);
  };
  const auto lead = static_cast<int>(floats_past_boundary(out));
  const bool packed = ((floats_past_boundary(in) == floats_past_boundary(out)) && ...);
  LaunchShape shape;
  shape.block_x = detail::kElementwiseThreads;
  shape.grid_x =
      size == 0 ? 0
                : ceil_div<int64_t>(size + lead, 4 * detail::kElementwiseThreads * detail::kSlotsPerThread);
  return launch(name, shape, stream, detail::elementwise_kernel<Operation, Input...>, out, size, lead, packed,
                operation, in...);
}

}  // namespace rondo
