// Comparisons that fail on NaN. Each reports the first bad element and the number of bad elements.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <iomanip>
#include <type_traits>
#include <vector>

namespace rondo::test {

// |got[i] - want[i]| <= bound(i) for every i. An infinity equals itself. NaN equals nothing.
template <class T, class Bound>
testing::AssertionResult all_within(const std::vector<T>& got, const std::vector<double>& want, Bound bound) {
  if (got.size() != want.size())
    return testing::AssertionFailure() << got.size() << " elements instead of " << want.size();
  size_t bad = 0, first = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double value = static_cast<double>(got[i]);
    if (value == want[i]) continue;
    if (std::isfinite(want[i]) && std::abs(value - want[i]) <= bound(i)) continue;
    if (bad++ == 0) first = i;
  }
  if (bad == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure() << bad << " of " << got.size() << " elements differ; the first, ["
                                     << first << "], is " << std::setprecision(9)
                                     << static_cast<double>(got[first]) << " instead of " << want[first]
                                     << ", allowed is a difference of " << bound(first);
}

// |got - want| <= absolute + relative * |want|, element by element.
template <class T>
testing::AssertionResult all_near(const std::vector<T>& got, const std::vector<double>& want, double absolute,
                                  double relative = 0) {
  return all_within(got, want,
                    [&](size_t i) { return absolute + (relative > 0 ? relative * std::abs(want[i]) : 0.0); });
}

// A value in printable form: small integers as numbers, 16-bit floats as floats.
template <class T>
auto shown(T x) {
  if constexpr (std::is_arithmetic_v<T>)
    return +x;
  else
    return static_cast<float>(x);
}

// Bitwise equality: -0 differs from 0, and a NaN equals a NaN of the same bits.
template <class T>
testing::AssertionResult all_equal_bits(const std::vector<T>& got, const std::vector<T>& want) {
  if (got.size() != want.size())
    return testing::AssertionFailure() << got.size() << " elements instead of " << want.size();
  size_t bad = 0, first = 0;
  for (size_t i = 0; i < got.size(); ++i)
    if (std::memcmp(&got[i], &want[i], sizeof(T)) != 0 && bad++ == 0) first = i;
  if (bad == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure() << bad << " of " << got.size() << " elements differ; the first, ["
                                     << first << "], is " << std::setprecision(9) << shown(got[first])
                                     << " instead of " << shown(want[first]);
}

}  // namespace rondo::test
