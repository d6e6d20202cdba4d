// update(): applies an optimizer's rule to every parameter, its gradient and its State arrays.
//
// `rule` is a functor: rule(parameter, gradient, state...) updates the parameter and its states, all floats.
// The gradient may have 16 bits. A copy of the updated parameters, rounded to 16 bits, is optional. Uses 16
// bytes an access if all arrays have the same offset from a 16-byte boundary, as arenas do; otherwise single
// elements.
#pragma once

#include <rondo/kernels/reduce/first_nonfinite.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/slots.cuh>
#include <rondo/kernels/core/values.cuh>

#include <algorithm>
#include <type_traits>

namespace rondo::optimizer {

// `first_nonfinite` is the result of first_nonfinite() for the gradients; null: always true.
__device__ __forceinline__ bool may_step(const unsigned long long* first_nonfinite) {
  return !first_nonfinite || *first_nonfinite == kAllFinite;
}

// The `rounded` of an update without a copy.
struct NoCopy {};

template <int N, class Rule, class Gradient, class Rounded, class... State>
__device__ __forceinline__ void update_pack(const Rule& rule, int64_t at, float* parameters,
                                            const Gradient* gradient, [[maybe_unused]] Rounded* rounded,
                                            State*... states) {
  Values<N> p = load_values<N>(parameters + at);
  const Values<N> g = load_values<N>(gradient + at);
  [&](auto... s) {
    RONDO_SIMD
    for (int k = 0; k < N; ++k) rule(p.v[k], g.v[k], s.v[k]...);
    (store_values<N>(states + at, s), ...);
  }(load_values<N>(states + at)...);
  store_values<N>(parameters + at, p);
  if constexpr (!std::is_same_v<Rounded, NoCopy>) store_values<N>(rounded + at, p);
}

// The elements of a slot: 16 bytes of the narrowest array.
template <class Gradient, class Rounded>
inline constexpr int kSlotElements = std::max(kWidestValues<Gradient>,
                                              std::is_same_v<Rounded, NoCopy> ? 0 : kWidestValues<Rounded>);

template <class Rule, class Gradient, class Rounded, class... State>
__global__ void __launch_bounds__(slots::kThreads)
    update_kernel(Rule rule, int64_t size, int lead, bool packed, float* parameters, const Gradient* gradient,
                  Rounded* rounded, State*... states) {
  constexpr int N = kSlotElements<Gradient, Rounded>;
  if (!rule.begin()) return;
  const int64_t first = slots::first_begin<N>(lead);
#pragma unroll
  for (int slot = 0; slot < slots::kPerThread; ++slot) {
    const int64_t begin = first + slot * slots::kStepOf<N>;
    slots::visit<N>(
        begin, size, packed, [&] { update_pack<N>(rule, begin, parameters, gradient, rounded, states...); },
        [&](int64_t i) { update_pack<1>(rule, i, parameters, gradient, rounded, states...); });
  }
}

// `rounded`: null for none.
template <class Rule, class Gradient, class Rounded, class... State>
Status update(const char* name, const Rule& rule, int64_t size, float* parameters, const Gradient* gradient,
              Rounded* rounded, cudaStream_t stream, State*... states) {
  if constexpr (!std::is_same_v<Rounded, NoCopy>) {
    if (!rounded)
      return update(name, rule, size, parameters, gradient, static_cast<NoCopy*>(nullptr), stream, states...);
  }
  const auto [lead, packed] = [&] {
    if constexpr (std::is_same_v<Rounded, NoCopy>)
      return slots::boundaries_of(states..., parameters, gradient);
    else
      return slots::boundaries_of(states..., parameters, gradient, rounded);
  }();
  return launch(name, slots::shape_of<kSlotElements<Gradient, Rounded>>(size, lead), stream,
                update_kernel<Rule, Gradient, Rounded, State...>, rule, size, lead, packed, parameters,
                gradient, rounded, states...);
}

}  // namespace rondo::optimizer
