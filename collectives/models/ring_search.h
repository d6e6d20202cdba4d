// The searches of ring_order(): exact for few ranks, heuristic for many.
#pragma once

#include <rondo/kernels/core/indexed.h>

#include <cstdint>
#include <vector>

namespace rondo::ring {

// Directed links between ranks in whole B/s, so that sums are exact and equal rings compare equal.
class LinkTable {
 public:
  explicit LinkTable(int ranks) : ranks_(ranks), values_(ranks * ranks, 0) {}

  int ranks() const { return ranks_; }
  int64_t at(int from, int to) const { return values_[from * ranks_ + to]; }
  void set(int from, int to, int64_t value) { values_[from * ranks_ + to] = value; }

 private:
  int ranks_;
  Indexed<std::vector<int64_t>> values_;
};

inline constexpr int kMostRanksExact = 14;

// Both start with rank 0 and rank rings as ring_order() documents. good_ring() may miss the best one.
std::vector<int> best_ring(const LinkTable& links);
std::vector<int> good_ring(const LinkTable& links);

}  // namespace rondo::ring
