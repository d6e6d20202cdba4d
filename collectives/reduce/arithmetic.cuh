// Arithmetic<T, R>: how reduction R combines elements of type T. reduction.h documents the rules.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <rondo/collectives/reduction.h>

#include <cstdint>
#include <type_traits>

namespace rondo {

template <class T>
inline constexpr bool kNarrowFloat = std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, __half>;

namespace detail {

// The type of partial results. min and max need only the type itself.
template <class T, Reduction R>
constexpr auto accumulator() {
  constexpr bool picks = R == Reduction::min || R == Reduction::max;
  if constexpr (kNarrowFloat<T> && !picks)
    return float{};
  else if constexpr (std::is_integral_v<T> && R == Reduction::average)
    return std::conditional_t<sizeof(T) == 1, int32_t, int64_t>{};
  else
    return T{};
}

}  // namespace detail

template <class T, Reduction R>
struct Arithmetic {
  using Accumulator = decltype(detail::accumulator<T, R>());

  // bfloat16 has the range of fp32, so the sum of two large inputs overflows where their average is finite. A
  // smaller unit for the sums avoids that for up to 2^16 inputs. It changes no bits: all multiples of the
  // smallest bfloat16, 2^-133, stay representable.
  static constexpr bool kScaled = R == Reduction::average && std::is_same_v<T, __nv_bfloat16>;
  static constexpr float kUnit = 0x1p-16f;

  static __device__ __forceinline__ Accumulator widen(T x) {
    if constexpr (kScaled)
      return static_cast<Accumulator>(x) * kUnit;
    else
      return static_cast<Accumulator>(x);
  }

  static __device__ __forceinline__ Accumulator add(Accumulator a, Accumulator b) {
    if constexpr (R == Reduction::min)
      return is_less(b, a) || is_nan(b) ? b : a;
    else if constexpr (R == Reduction::max)
      return is_less(a, b) || is_nan(b) ? b : a;
    else if constexpr (std::is_integral_v<Accumulator>) {
      // Unsigned because signed overflow is undefined; the low bits are the same.
      const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
      return static_cast<Accumulator>(R == Reduction::product ? x * y : x + y);
    } else if constexpr (R == Reduction::product)
      return a * b;
    else
      return a + b;
  }

  static __device__ __forceinline__ T finish(Accumulator sum, int inputs) {
    if constexpr (kScaled)
      return static_cast<T>(sum / (static_cast<Accumulator>(inputs) * kUnit));
    else if constexpr (R == Reduction::average)
      return static_cast<T>(sum / static_cast<Accumulator>(inputs));
    else
      return static_cast<T>(sum);
  }

 private:
  // 16-bit floats are compared as fp32.
  static __device__ __forceinline__ auto comparable(Accumulator x) {
    if constexpr (kNarrowFloat<Accumulator>)
      return static_cast<float>(x);
    else
      return x;
  }
  static __device__ __forceinline__ bool is_less(Accumulator a, Accumulator b) {
    return comparable(a) < comparable(b);
  }
  static __device__ __forceinline__ bool is_nan(Accumulator x) { return comparable(x) != comparable(x); }
};

}  // namespace rondo
