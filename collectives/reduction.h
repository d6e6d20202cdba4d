// Reduction: the operator that combines the ranks' elements. SumOrder: the order in which they are combined.
#pragma once

#include <cstdint>

namespace rondo {

// Numerics. 16-bit floats are widened to fp32, combined in fp32 and rounded once at the end. min and max of
// floats are NaN if any input is NaN. Sums and products of integers wrap modulo 2^bits. The average is the
// sum divided by the number of ranks: floats are divided in fp32 (double for float64); integers are summed in
// a wider type and rounded towards zero, so that only the sum of int64 can wrap.
//
// Overflow. A sum or product of floats that is beyond the type's range is infinite: for float16 from 65520
// on. The average of finite 16-bit floats is always finite: it is divided before it is rounded, and the sum
// below it does not overflow. The sum below an average of float32 or float64 can: the average of two values
// of 3e38 is infinite.
enum class Reduction : uint8_t { sum, product, min, max, average };

inline constexpr Reduction kReductions[] = {Reduction::sum, Reduction::product, Reduction::min,
                                            Reduction::max, Reduction::average};

constexpr const char* name_of(Reduction reduction) {
  constexpr const char* kNames[] = {"sum", "product", "min", "max", "average"};
  return kNames[static_cast<int>(reduction)];
}

// left_to_right   ((x0 + x1) + x2) + x3 ...
// balanced_tree   (x0 + x1) + (x2 + x3) ...: T(a, b) = T(a, a + p) + T(a + p, b), where p is the largest
//                 power of two below b - a. The sum of 2^k consecutive inputs is a subtree of the sum of
//                 2^(k+1). Adding parts of 2^k inputs first and then the partial sums gives the bits of the
//                 whole sum.
enum class SumOrder : uint8_t { left_to_right, balanced_tree };

}  // namespace rondo
