// A plain loop that adds in the order that collectives.h documents for the hierarchical all-reduce.
#pragma once

#include <rondo/kernels/core/dtype.h>

#include <vector>

namespace rondo::test {

// Sums `inputs`, one per rank, in groups of m ranks: inside a group in the order of the ring, which begins at
// a different rank for each chunk, then group after group. 16-bit floats are added in fp32 and rounded at the
// end.
template <class T>
std::vector<T> hierarchical_sum(const std::vector<std::vector<T>>& inputs, size_t m) {
  using Wide = std::conditional_t<sizeof(T) == 2, float, T>;
  const size_t size = inputs[0].size(), unit = 16 / sizeof(T);
  size_t chunk = (size + m - 1) / m;
  while (chunk % unit != 0) ++chunk;
  std::vector<T> sum(size);
  for (size_t i = 0; i < size; ++i) {
    Wide total = 0;
    for (size_t group = 0; group < inputs.size() / m; ++group) {
      const size_t first = i / chunk;
      Wide of_group = static_cast<Wide>(inputs[group * m + first][i]);
      for (size_t k = 1; k < m; ++k) of_group += static_cast<Wide>(inputs[group * m + (first + k) % m][i]);
      total = group == 0 ? of_group : static_cast<Wide>(total + of_group);
    }
    sum[i] = static_cast<T>(total);
  }
  return sum;
}

}  // namespace rondo::test
