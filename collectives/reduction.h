// Reduction: how the ranks' elements become one, and SumOrder: in which order they are taken.
#pragma once

#include <cstdint>

namespace rondo {

// Numerics. 16-bit floats are widened to fp32, combined there, and rounded once at the end; min and max of any
// float are NaN where one input is. Sums and products of integers wrap modulo 2^bits. The average is the sum
// divided by the number of ranks: floats are divided in fp32 (double for float64), integers are rounded
// towards zero and summed in a wider type, so that only the sum of int64 can wrap.
enum class Reduction : uint8_t { sum, product, min, max, average };

inline constexpr Reduction kReductions[] = {Reduction::sum, Reduction::product, Reduction::min,
                                            Reduction::max, Reduction::average};

constexpr const char* name_of(Reduction reduction) {
  constexpr const char* kNames[] = {"sum", "product", "min", "max", "average"};
  return kNames[static_cast<int>(reduction)];
}

// left_to_right   ((x0 + x1) + x2) + x3 ...
// balanced_tree   (x0 + x1) + (x2 + x3) ...: T(a, b) = T(a, a + p) + T(a + p, b), where p is the largest power
//                 of two below b - a. The sum of 2^k neighbours is then a subtree of the sum of 2^(k+1): who
//                 adds a part of the inputs first, and then the parts, gets the bits of the whole.
enum class SumOrder : uint8_t { left_to_right, balanced_tree };

}  // namespace rondo
