// Pairwise testing of a grid that is too large to test completely: the cases, drawn from a seed, cover every
// pair of values of any two dimensions. Which combinations of three or more values occur depends on the seed.
#pragma once

#include <rondo/tests/support/inputs.h>

#include <set>
#include <tuple>
#include <vector>

namespace rondo::test {

using GridPoint = std::vector<int>;  // the index of the value in each dimension

inline std::vector<GridPoint> pairwise(const std::vector<int>& extents, uint64_t seed) {
  using Pair = std::tuple<size_t, int, size_t, int>;
  Random random(seed);
  std::set<Pair> open;
  for (size_t a = 0; a < extents.size(); ++a)
    for (size_t b = a + 1; b < extents.size(); ++b)
      for (int i = 0; i < extents[a]; ++i)
        for (int j = 0; j < extents[b]; ++j) open.insert({a, i, b, j});

  const auto drawn = [&](Pair must) {
    GridPoint point;
    for (int extent : extents) point.push_back(static_cast<int>(random.below(extent)));
    const auto [a, i, b, j] = must;
    point[a] = i;
    point[b] = j;
    return point;
  };
  const auto pairs_of = [&](const GridPoint& point) {
    std::vector<Pair> pairs;
    for (size_t a = 0; a < point.size(); ++a)
      for (size_t b = a + 1; b < point.size(); ++b) pairs.push_back({a, point[a], b, point[b]});
    return pairs;
  };
  std::vector<GridPoint> points;
  while (!open.empty()) {
    GridPoint best;
    size_t most = 0;
    for (int candidate = 0; candidate < 10; ++candidate) {
      const GridPoint point = drawn(*open.begin());
      size_t fresh = 0;
      for (const Pair& pair : pairs_of(point)) fresh += open.count(pair);
      if (fresh > most) std::tie(best, most) = std::make_tuple(point, fresh);
    }
    for (const Pair& pair : pairs_of(best)) open.erase(pair);
    points.push_back(best);
  }
  return points;
}

}  // namespace rondo::test
