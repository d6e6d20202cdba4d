// update(): applies an optimizer's rule to every parameter, its gradient and its State arrays.
//
// `rule` is a functor: rule(parameter, gradient, state...) updates the parameter and its states. Uses packs
// if all arrays have the same offset from a 16-byte boundary, as arenas do; otherwise single elements.
#pragma once

#include <rondo/kernels/reduce/first_nonfinite.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/slots.cuh>

namespace rondo::optimizer {

// `found_inf` is the result of first_nonfinite() of the gradients; null skips the check.
__device__ __forceinline__ bool may_step(const unsigned long long* found_inf) {
  return !found_inf || *found_inf == kAllFinite;
}

template <int N, class Rule, class... State>
__device__ __forceinline__ void update_pack(const Rule& rule, int64_t at, float* parameters,
                                            const float* gradient, State*... states) {
  Pack<float, N> p = load_pack<N>(parameters + at);
  const Pack<float, N> g = load_pack<N>(gradient + at);
  [&](auto... s) {
    RONDO_SIMD
    for (int k = 0; k < N; ++k) rule(p.v[k], g.v[k], s.v[k]...);
    (store_pack(states + at, s), ...);
  }(load_pack<N>(states + at)...);
  store_pack(parameters + at, p);
}

template <class Rule, class... State>
__global__ void __launch_bounds__(slots::kThreads)
    update_kernel(Rule rule, int64_t size, int lead, bool packed, float* parameters, const float* gradient,
                  State*... states) {
  constexpr int N = slots::kSlotFloats;
  if (!rule.begin()) return;
  const int64_t first = slots::first_begin(lead);
#pragma unroll
  for (int slot = 0; slot < slots::kPerThread; ++slot) {
    const int64_t begin = first + slot * slots::kStep;
    slots::visit<N>(
        begin, size, packed, [&] { update_pack<N>(rule, begin, parameters, gradient, states...); },
        [&](int64_t i) { update_pack<1>(rule, i, parameters, gradient, states...); });
  }
}

template <class Rule, class... State>
Status update(const char* name, const Rule& rule, int64_t size, float* parameters, const float* gradient,
              cudaStream_t stream, State*... states) {
  const int lead = slots::lead_of(parameters);
  const bool packed = slots::lead_of(gradient) == lead && ((slots::lead_of(states) == lead) && ...);
  return launch(name, slots::shape_of(size, lead), stream, update_kernel<Rule, State...>, rule, size, lead,
                packed, parameters, gradient, states...);
}

}  // namespace rondo::optimizer
