// The formulas of exact_values.h. u is the rank, rotated by a random number of the element; w(u) is from 0 to
// 3:
//
//   sum, average  B + A w(u)            n B + A W, where W is the sum of all w; average: see reduction.h
//   min, max      B + A u               B and B + A (n-1): only one rank holds each
//   product       floats: +-2^e(u), with a mantissa for u = 0; integers: g^w(u) for an odd g
//   no reduction  a separate random number for every rank and index
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <rondo/tools/rondo/collective/exact_values.h>

#include <cmath>
#include <type_traits>

namespace rondo::program {

enum class ExactKind { linear, extremes, product, moved };

// The values that the formulas need from all ranks, computed once.
struct ExactPlan {
  ExactKind kind = ExactKind::moved;
  Reduction reduction = Reduction::sum;
  int ranks = 1;
  uint64_t seed = 0;
  int64_t most_a = 0, most_b = 0;  // A from 1 to most_a (0: always 0), B from -most_b to most_b (0 for uint8)
  bool wraps = false;              // A and B are arbitrary integers
  int weights = 0;                 // W
  int exponents = 0, negatives = 0;  // the sum of all e; the number of odd w
};

namespace exact {

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
__host__ __device__ inline uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}
__host__ __device__ inline uint64_t draw(uint64_t seed, uint64_t index) {
  return mixed(seed * 0xD1342543DE82EF95u + (index + 1) * 0x9E3779B97F4A7C15u);
}

__host__ __device__ inline int weight_of(int turned) { return static_cast<int>(mixed(turned + 77) & 3); }
__host__ __device__ inline int exponent_of(int turned) { return static_cast<int>(mixed(turned + 7) % 3) - 1; }

// The type represents all integers up to this bound exactly; integer types leave room for sums over ranks.
template <class T>
__host__ __device__ constexpr int64_t limit_of() {
  if constexpr (std::is_same_v<T, double>) return int64_t{1} << 53;
  if constexpr (std::is_same_v<T, float>) return 1 << 24;
  if constexpr (std::is_same_v<T, __half>) return 1 << 11;
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return 1 << 8;
  if constexpr (std::is_same_v<T, int64_t>) return int64_t{1} << 50;
  if constexpr (std::is_same_v<T, int32_t>) return 1 << 30;
  return 254;
}

template <class T>
__host__ __device__ inline T whole(int64_t value) {
  if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>)
    return static_cast<T>(value);
  else
    return static_cast<T>(static_cast<float>(value));
}

template <class T>
__host__ __device__ inline T real(double value) {
  if constexpr (std::is_same_v<T, double>)
    return value;
  else
    return static_cast<T>(static_cast<float>(value));
}

struct Line {
  int64_t a, b;
  int scale;  // a power of two; for floats only
};

template <class T>
__host__ __device__ inline Line line_of(const ExactPlan& plan, uint64_t bits) {
  const uint64_t more = mixed(bits + 1);
  if (plan.wraps) return {static_cast<int64_t>(bits), static_cast<int64_t>(more), 0};
  const auto b = static_cast<int64_t>(more % static_cast<uint64_t>(2 * plan.most_b + 1)) - plan.most_b;
  const int64_t a = plan.most_a > 0 ? 1 + static_cast<int64_t>(bits % static_cast<uint64_t>(plan.most_a)) : 0;
  return {a, std::is_same_v<T, uint8_t> && b < 0 ? -b : b, static_cast<int>(bits >> 61) - 3};
}

template <class T>
__host__ __device__ inline T scaled(int64_t value, int scale) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(value);
  else
    return real<T>(ldexp(static_cast<double>(value), scale));
}

__host__ __device__ inline int64_t wrapping(int64_t a, int64_t x, int64_t b, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(x) +
                              static_cast<uint64_t>(b) * static_cast<uint64_t>(y));
}

template <class T>
__host__ __device__ inline T power(uint64_t bits, int exponent, int negatives, bool with_mantissa,
                                   int weight) {
  if constexpr (std::is_integral_v<T>) {
    uint64_t result = 1;
    for (int i = 0; i < weight; ++i) result *= bits | 1;
    return static_cast<T>(result);
  } else {
    const double mantissa = with_mantissa ? 1 + static_cast<double>(bits >> 62) / 4 : 1;
    const double sign = (bits >> 8 & 1) != 0 && negatives % 2 != 0 ? -1 : 1;
    return real<T>(sign * ldexp(mantissa, (bits >> 9 & 1) != 0 ? exponent : -exponent));
  }
}

template <class T>
__host__ __device__ inline T input(const ExactPlan& plan, int rank, int64_t index) {
  const uint64_t bits = draw(plan.seed, static_cast<uint64_t>(index));
  const int turned =
      static_cast<int>((static_cast<uint32_t>(rank) + static_cast<uint32_t>(bits >> 32 & 0xFFFF)) %
                       static_cast<uint32_t>(plan.ranks));
  if (plan.kind == ExactKind::moved) {
    const uint64_t own = mixed(bits + static_cast<uint64_t>(rank) * 0x9E3779B97F4A7C15u);
    return whole<T>(static_cast<int64_t>(own % static_cast<uint64_t>(limit_of<T>())));
  }
  if (plan.kind == ExactKind::product)
    return power<T>(bits, exponent_of(turned), weight_of(turned), turned == 0, weight_of(turned));
  const Line line = line_of<T>(plan, bits);
  const int times = plan.kind == ExactKind::extremes ? turned : weight_of(turned);
  return scaled<T>(wrapping(line.a, times, line.b, 1), line.scale);
}

// The reduction of all ranks' inputs at this index.
template <class T>
__host__ __device__ inline T result(const ExactPlan& plan, int64_t index) {
  const uint64_t bits = draw(plan.seed, static_cast<uint64_t>(index));
  if (plan.kind == ExactKind::product)
    return power<T>(bits, plan.exponents, plan.negatives, true, plan.weights);
  const Line line = line_of<T>(plan, bits);
  if (plan.kind == ExactKind::extremes)
    return scaled<T>(wrapping(line.a, plan.reduction == Reduction::min ? 0 : plan.ranks - 1, line.b, 1),
                     line.scale);
  const int64_t sum = wrapping(line.a, plan.weights, line.b, plan.ranks);
  if (plan.reduction != Reduction::average) return scaled<T>(sum, line.scale);
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(sum / plan.ranks);
  else if constexpr (std::is_same_v<T, double>)
    return ldexp(static_cast<double>(sum), line.scale) / plan.ranks;
  else
    return static_cast<T>(static_cast<float>(ldexp(static_cast<double>(sum), line.scale)) /
                          static_cast<float>(plan.ranks));
}

// True also for NaN.
template <class T>
__host__ __device__ inline bool differs(T got, T want) {
  if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>)
    return !(got == want);
  else
    return !(static_cast<float>(got) == static_cast<float>(want));
}

}  // namespace exact

template <class T>
ExactPlan plan_of(const ExactData& data) {
  ExactPlan plan{.ranks = data.ranks, .seed = data.seed};
  if (!data.reduction) return plan;
  plan.reduction = *data.reduction;
  for (int u = 0; u < data.ranks; ++u) {
    plan.weights += exact::weight_of(u);
    plan.exponents += exact::exponent_of(u);
    plan.negatives += exact::weight_of(u) % 2;
  }
  constexpr int64_t kLimit = exact::limit_of<T>();
  switch (*data.reduction) {
    case Reduction::product:
      plan.kind = ExactKind::product;
      return plan;
    case Reduction::min:
    case Reduction::max:
      plan.kind = ExactKind::extremes;
      plan.most_a = data.ranks > 1 ? kLimit / 2 / (data.ranks - 1) : 0;
      plan.most_b = kLimit / 2;
      return plan;
    default:
      plan.kind = ExactKind::linear;
  }
  if (!std::is_integral_v<T>) {  // the sum must be exact, too
    plan.most_a = kLimit / 2 / (plan.weights > 0 ? plan.weights : 1);
    plan.most_b = kLimit / 2 / data.ranks;
  } else {  // an average is accumulated in a wider type; a sum may wrap
    plan.wraps = plan.reduction == Reduction::sum;
    plan.most_a = kLimit / 8;
    plan.most_b = kLimit / 2;
  }
  return plan;
}

}  // namespace rondo::program
