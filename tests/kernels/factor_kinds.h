// The three kinds of factors by which `rondo numerics` and tests compare the errors of products.
#pragma once

#include <rondo/tests/support/inputs.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace rondo::test {

// N(0, 1); uniform between 0 and 1; N(0, 1) with rows scaled by powers of two from 2^-20 to 2^20.
enum class FactorKind { normal, positive, scaled_rows };
inline constexpr FactorKind kFactorKinds[] = {FactorKind::normal, FactorKind::positive,
                                              FactorKind::scaled_rows};
constexpr const char* name_of(FactorKind kind) {
  return kind == FactorKind::normal ? "normal" : kind == FactorKind::positive ? "positive" : "scaled rows";
}

// row(i) is the row of value i: the values of a row are the factors of one sum.
template <class Row>
std::vector<float> factors(FactorKind kind, int64_t count, uint64_t seed, Row row) {
  std::vector<float> values = normal_values(count, seed);
  Random random(seed);
  for (size_t i = 0; i < values.size(); ++i) {
    if (kind == FactorKind::positive) values[i] = static_cast<float>(random.uniform());
    if (kind == FactorKind::scaled_rows)
      values[i] = std::ldexp(values[i], static_cast<int>(row(static_cast<int64_t>(i)) * 7 % 41) - 20);
  }
  return values;
}

}  // namespace rondo::test
