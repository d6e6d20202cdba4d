// Chooses the order of the ranks around the ring from the bandwidths between them. All ranks send at the same
// time and wait for each other, so a ring is as fast as its slowest link.
#pragma once

#include <rondo/kernels/core/status.h>

#include <span>
#include <vector>

namespace rondo {

inline constexpr int kMostRanksInOrder = 64;

// Returns the order with the fastest slowest link. Ties are broken by the largest sum of links, then by the
// lexicographically smallest order. order[0] is 0. order[i] sends to order[i + 1], the last rank to rank 0.
//
// bandwidth: ranks x ranks, row-major, finite values in B/s from 0 (no link) to 1e15. [from][to] may differ
// from [to][from]. The diagonal is not read. Links are compared after rounding to whole B/s.
//
// Up to 14 ranks the result is exact: dynamic programming over the subsets of ranks, O(2^n n^2). Above, it is
// the best ring that a local search finds from several greedy rings. The result is deterministic.
Status ring_order(int ranks, std::span<const double> bandwidth, std::vector<int>& order);

// B/s of the slowest link of a ring; infinite for one rank. `order` contains every rank of the matrix once.
double slowest_link(std::span<const int> order, std::span<const double> bandwidth);

}  // namespace rondo
