// The searches of ring_order(): exact for few ranks, heuristic for many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo::ring {

// Directed links between ranks in whole B/s, so that sums are exact and equal rings compare equal.
class LinkTable {
 public:
  explicit LinkTable(int ranks) : ranks_(ranks), values_(static_cast<size_t>(ranks) * ranks, 0) {}

  int ranks() const { return ranks_; }
  int64_t at(int from, int to) const { return values_[index(from, to)]; }
  void set(int from, int to, int64_t value) { values_[index(from, to)] = value; }

 private:
  size_t index(int from, int to) const { return static_cast<size_t>(from) * ranks_ + to; }

  int ranks_;
  std::vector<int64_t> values_;
};

inline constexpr int kMostRanksExact = 14;

// Both start with rank 0 and rank rings as ring_order() documents. good_ring() may miss the best one.
std::vector<int> best_ring(const LinkTable& links);
std::vector<int> good_ring(const LinkTable& links);

}  // namespace rondo::ring
