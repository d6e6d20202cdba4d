// The largest error of a function of one float, over many arguments.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace rondo::test {

// For every 1000th float from `first` on, up to `last`, both of one sign. A NaN counts as infinite.
template <class Error>
double largest_error(float first, float last, const Error& error) {
  double largest = 0;
  auto bits = __builtin_bit_cast(uint32_t, first);
  for (const auto end = __builtin_bit_cast(uint32_t, last); bits <= end; bits += 1000) {
    const double of_x = error(__builtin_bit_cast(float, bits));
    largest = std::max(largest, std::isnan(of_x) ? std::numeric_limits<double>::infinity() : of_x);
  }
  return largest;
}

// For floats of both signs with absolute values from 2^-130 to `last`.
template <class Error>
double largest_error_of_both_signs(float last, const Error& error) {
  return std::max(largest_error(0x1p-130f, last, error), largest_error(-0x1p-130f, -last, error));
}

}  // namespace rondo::test
