// Handlers that compute each lane's result from its sources.
#pragma once

#include <cstdint>

#include "warp.h"

namespace ptx {

// Cheap functions are computed for all lanes, so that the compiler uses vector instructions, and stored for
// the active ones. `function` must be defined for all values.
template <class Result, class Function>
inline void store_lanes(Result* result, uint32_t lanes, Function function) {
  if (lanes == kAllLanes) {
#pragma GCC ivdep
    for (int lane = 0; lane < kWarpSize; ++lane) result[lane] = function(lane);
  } else {
#pragma GCC ivdep
    for (int lane = 0; lane < kWarpSize; ++lane) {
      const Result value = function(lane);
      result[lane] = lanes >> lane & 1 ? value : result[lane];
    }
  }
}

// result = Operation::of(source...)
template <class Operation, class Result, class A>
void unary(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const A* a = values<A>(warp, instruction, 1);
  store_lanes(values<Result>(warp, instruction, 0), lanes,
              [=](int l) -> Result { return Operation::of(a[l]); });
}

template <class Operation, class Result, class A, class B>
void binary(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const A* a = values<A>(warp, instruction, 1);
  const B* b = values<B>(warp, instruction, 2);
  store_lanes(values<Result>(warp, instruction, 0), lanes,
              [=](int l) -> Result { return Operation::of(a[l], b[l]); });
}

template <class Operation, class Result, class A, class B, class C>
void ternary(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const A* a = values<A>(warp, instruction, 1);
  const B* b = values<B>(warp, instruction, 2);
  const C* c = values<C>(warp, instruction, 3);
  store_lanes(values<Result>(warp, instruction, 0), lanes,
              [=](int l) -> Result { return Operation::of(a[l], b[l], c[l]); });
}

}  // namespace ptx
