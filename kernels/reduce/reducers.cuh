// What reductions do with a value and with two partial results, for row_reduction.cuh and
// column_reduction.cuh.
//
// A reducer is a functor with
//   State     a partial result of 4 or 8 bytes; the one of no values is identity()
//   Result    the type of the results
//   add(state, value, index)    the state with one value more, which is at `index` in its row or column
//   merge(a, b)                 the state of the values of both; the same bits as merge(b, a)
//   result(state, count)        the result of `count` values
// Each serves several operators by members: a sign or an absolute value is a mask of bits, which costs
// nothing beside memory. So there are four kernels where there are nine operators.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

namespace rondo::reduce {

inline constexpr uint32_t kAllBits = ~0u, kSign = 1u << 31;

__device__ __forceinline__ float masked(float value, uint32_t keep, uint32_t flip) {
  return __builtin_bit_cast(float, (__builtin_bit_cast(uint32_t, value) & keep) ^ flip);
}

// A number that is larger for larger values; -0 is below +0, and NaN above all. Never 0.
__device__ __forceinline__ uint32_t order_of(float value) {
  const auto bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t order = bits & kSign ? ~bits : bits | kSign;
  return value != value ? kAllBits : order;
}
__device__ __forceinline__ float value_of_order(uint32_t order) {
  const uint32_t bits = order & kSign ? order ^ kSign : ~order;
  return __builtin_bit_cast(float, order == kAllBits ? 0x7FC00000u : bits);
}

// sum and mean; with a mask for absolute values, the L1 norm.
struct Sum {
  using State = float;
  using Result = float;
  uint32_t keep;
  bool mean;

  static __device__ __forceinline__ State identity() { return 0; }
  __device__ __forceinline__ State add(State state, float value, int64_t) const {
    return state + masked(value, keep, 0);
  }
  static __device__ __forceinline__ State merge(State a, State b) { return a + b; }
  __device__ __forceinline__ Result result(State state, int64_t count) const {
    return mean ? state / static_cast<float>(count) : state;
  }
};

// The L2 norm. The squares of floats are exact in double, which no sum of them leaves.
struct SquareRoot {
  using State = double;
  using Result = float;

  static __device__ __forceinline__ State identity() { return 0; }
  __device__ __forceinline__ State add(State state, float value, int64_t) const {
    const double exact = value;
    return state + exact * exact;  // the same bits if the compiler fuses them
  }
  static __device__ __forceinline__ State merge(State a, State b) { return a + b; }
  __device__ __forceinline__ Result result(State state, int64_t) const {
    return static_cast<float>(sqrt(state));
  }
};

__device__ __forceinline__ uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }
__device__ __forceinline__ uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

// max; with flipped signs, min; with a mask for absolute values, the maximum norm. Whole numbers do not
// depend on the order, not even of zeros and NaN.
struct Extreme {
  using State = uint32_t;
  using Result = float;
  uint32_t keep, flip;
  float of_none;  // the result of no values

  static __device__ __forceinline__ State identity() { return 0; }
  __device__ __forceinline__ State add(State state, float value, int64_t) const {
    return larger(state, order_of(masked(value, keep, flip)));
  }
  static __device__ __forceinline__ State merge(State a, State b) { return larger(a, b); }
  __device__ __forceinline__ Result result(State state, int64_t) const {
    if (state == 0) return of_none;
    const float value = value_of_order(state);
    return value != value ? value : masked(value, kAllBits, flip);
  }
};

// argmax; with flipped signs, argmin. The upper half is the order of the value, the lower one of its index:
// of equal values the first is larger.
struct IndexOfExtreme {
  using State = uint64_t;
  using Result = int64_t;
  uint32_t flip;

  static __device__ __forceinline__ State identity() { return 0; }
  __device__ __forceinline__ State add(State state, float value, int64_t index) const {
    const uint32_t order = order_of(masked(value + 0.0f, kAllBits, flip));  // -0 + 0 is +0
    return larger(state, static_cast<uint64_t>(order) << 32 | ~static_cast<uint32_t>(index));
  }
  static __device__ __forceinline__ State merge(State a, State b) { return larger(a, b); }
  __device__ __forceinline__ Result result(State state, int64_t) const {
    return state == 0 ? -1 : static_cast<int64_t>(~static_cast<uint32_t>(state));
  }
};

}  // namespace rondo::reduce
