// Inputs for which every correct algorithm computes the same bits, in any order of additions, and the
// expected bits, computed without Rondo's arithmetic. Comparisons need no tolerance.
//
//   sum, average   integers small enough that every partial sum is exact in fp32 (double for float64). The
//                  only rounding is that of the 16-bit sum or of the average's quotient.
//   product        powers of two with signs, except for one rank, which has a full mantissa
//   min, max       any number, including infinities
//   integer types  any bits: sums and products wrap the same in every order. int64 values for an average are
//                  small enough that the sum does not wrap.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <rondo/collectives/reduction.h>
#include <rondo/tests/support/inputs.h>

#include <bit>
#include <limits>
#include <type_traits>
#include <vector>

namespace rondo::test {

template <class T>
struct ExactData {
  std::vector<std::vector<T>> inputs;  // [rank]
  std::vector<T> want;
};

// Significant bits of a summand, for sums over up to 64 ranks.
template <class T>
constexpr int kSummandBits = std::is_same_v<T, double>          ? 46
                             : std::is_same_v<T, float>         ? 18
                             : std::is_same_v<T, __nv_bfloat16> ? 8
                                                                : 9;

template <class T>
T rounded(double x) {
  if constexpr (std::is_same_v<T, double>)
    return x;
  else
    return static_cast<T>(static_cast<float>(x));  // 16-bit floats: through fp32, in which x is exact
}

// `mantissa`: this rank has the full mantissa of a product.
template <class T>
T exact_float(Reduction reduction, Random& random, bool mantissa) {
  constexpr int64_t kBound = int64_t{1} << kSummandBits<T>;
  if (reduction == Reduction::product) {
    const double sign = random.next() & 1 ? -1 : 1;
    const double one_to_two = mantissa ? 1 + static_cast<double>(random.below(kBound / 2)) / (kBound / 2) : 1;
    constexpr double kPowers[] = {0.5, 1, 2};
    return rounded<T>(sign * one_to_two * kPowers[random.below(3)]);
  }
  const double integer = static_cast<double>(random.below(2 * kBound + 1) - kBound);
  const bool picks = reduction == Reduction::min || reduction == Reduction::max;
  if (picks && random.below(50) == 0)
    return rounded<T>(integer < 0 ? -std::numeric_limits<double>::infinity()
                                  : std::numeric_limits<double>::infinity());
  return rounded<T>(integer);
}

template <class T>
T exact_integer(Reduction reduction, Random& random) {
  const uint64_t bits = random.next();
  if (reduction == Reduction::product) return static_cast<T>(random.below(16) == 0 ? bits : bits | 1);
  if (reduction == Reduction::average && sizeof(T) == 8)
    return static_cast<T>(static_cast<int64_t>(bits) >> 7);
  return static_cast<T>(bits);
}

// The reduction of one element, in double or 64-bit integers.
template <class T>
T exact_result(Reduction reduction, const std::vector<std::vector<T>>& inputs, size_t element) {
  using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
  const auto ranks = static_cast<int64_t>(inputs.size());
  T picked = inputs[0][element];
  Wide wide = reduction == Reduction::product ? 1 : 0;
  for (const std::vector<T>& input : inputs) {
    const T x = input[element];
    const Wide widened = static_cast<Wide>(x);
    wide = reduction == Reduction::product ? wide * widened : wide + widened;
    if (reduction == Reduction::min ? x < picked : reduction == Reduction::max && x > picked) picked = x;
  }
  if (reduction == Reduction::min || reduction == Reduction::max) return picked;
  if constexpr (std::is_integral_v<T>) {
    const auto sum = static_cast<int64_t>(wide);
    return static_cast<T>(reduction == Reduction::average ? sum / ranks : sum);
  } else {
    if (reduction != Reduction::average) return rounded<T>(wide);
    if constexpr (std::is_same_v<T, double>) return wide / static_cast<double>(ranks);
    return static_cast<T>(static_cast<float>(wide) / static_cast<float>(ranks));
  }
}

template <class T>
ExactData<T> exact_data(Reduction reduction, int ranks, int64_t size, uint64_t seed) {
  ExactData<T> data;
  for (int rank = 0; rank < ranks; ++rank) {
    Random random(seed * 1000 + static_cast<uint64_t>(rank));
    std::vector<T>& input = data.inputs.emplace_back(static_cast<size_t>(size));
    for (size_t i = 0; i < input.size(); ++i)
      if constexpr (std::is_integral_v<T>)
        input[i] = exact_integer<T>(reduction, random);
      else
        input[i] = exact_float<T>(reduction, random,
                                  static_cast<int>((i + seed) % static_cast<size_t>(ranks)) == rank);
  }
  data.want.resize(static_cast<size_t>(size));
  for (size_t i = 0; i < data.want.size(); ++i) data.want[i] = exact_result(reduction, data.inputs, i);
  return data;
}

// Elements that are all different, as far as the type allows. For operations that only move data.
template <class T>
std::vector<std::vector<T>> distinct_values(int ranks, int64_t size) {
  std::vector<std::vector<T>> values(static_cast<size_t>(ranks));
  uint64_t number = 0;
  for (std::vector<T>& of_rank : values)
    for (int64_t i = 0; i < size; ++i) {
      ++number;
      T& x = of_rank.emplace_back();
      if constexpr (std::is_integral_v<T> || sizeof(T) > 2) {
        x = static_cast<T>(number * (std::is_integral_v<T> ? 0x9E3779B97F4A7C15u : 1));
      } else {
        const auto bits = static_cast<uint16_t>(0x0400 + number % 0x7000);  // a normal number in both formats
        x = std::bit_cast<T>(bits);
      }
    }
  return values;
}

}  // namespace rondo::test
