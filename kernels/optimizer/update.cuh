// update(): an optimizer's rule for every parameter, its gradient and the State arrays that go with it.
//
// `rule` is a functor: rule(parameter, gradient, state...) changes the parameter and its states. Packs of four where all
// arrays lie alike towards the 16-byte boundaries, as arenas do; single elements otherwise.
#pragma once

#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/pack.cuh>
#include <rondo/kernels/reduce/first_nonfinite.h>

namespace rondo::optimizer {

constexpr int kThreads = 256;
constexpr int kPacksPerThread = 4;

// A guard is what first_nonfinite() left of the gradients; null: nobody looks.
__device__ __forceinline__ bool may_step(const unsigned long long* guard) {
  return !guard || *guard == kAllFinite;
}

template <int N, class Rule, class... State>
__device__ __forceinline__ void update_pack(const Rule& rule, int64_t at, float* parameters,
                                            const float* gradient, State*... states) {
  Pack<float, N> p = load_pack<N>(parameters + at);
  const Pack<float, N> g = load_pack<N>(gradient + at);
  [&](auto... s) {
#pragma unroll
    for (int k = 0; k < N; ++k) rule(p.v[k], g.v[k], s.v[k]...);
    (store_pack(states + at, s), ...);
  }(load_pack<N>(states + at)...);
  store_pack(parameters + at, p);
}

template <class Rule, class... State>
__global__ void __launch_bounds__(kThreads)
    update_kernel(Rule rule, int64_t size, int lead, bool packed, float* parameters, const float* gradient,
                  State*... states) {
  if (!rule.begin()) return;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * (kThreads * kPacksPerThread) + threadIdx.x;
#pragma unroll
  for (int pack = 0; pack < kPacksPerThread; ++pack) {
    const int64_t begin = (first + pack * kThreads) * 4 - lead;
    if (packed && begin >= 0 && begin + 4 <= size) {
      update_pack<4>(rule, begin, parameters, gradient, states...);
    } else {
      for (int j = 0; j < 4; ++j)
        if (begin + j >= 0 && begin + j < size)
          update_pack<1>(rule, begin + j, parameters, gradient, states...);
    }
  }
}

template <class Rule, class... State>
Status update(const char* name, const Rule& rule, int64_t size, float* parameters, const float* gradient,
              cudaStream_t stream, State*... states) {
  const auto floats_past_boundary = [](const float* p) {
    return static_cast<int>(reinterpret_cast<uintptr_t>(p) % 16 / sizeof(float));
  };
  const int lead = floats_past_boundary(parameters);
  const bool packed =
      floats_past_boundary(gradient) == lead && ((floats_past_boundary(states) == lead) && ...);
  LaunchShape shape;
  shape.block_x = kThreads;
  shape.grid_x = size == 0 ? 0 : ceil_div<int64_t>(size + lead, 4 * kThreads * kPacksPerThread);
  return launch(name, shape, stream, update_kernel<Rule, State...>, rule, size, lead, packed, parameters,
                gradient, states...);
}

}  // namespace rondo::optimizer
