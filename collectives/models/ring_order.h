// In which order ranks should stand around the ring, given how fast each reaches each. All ranks send at once
// and wait for each other, so that a ring is as fast as its slowest link.
#pragma once

#include <rondo/kernels/core/status.h>

#include <span>
#include <vector>

namespace rondo {

inline constexpr int kMostRanksInOrder = 64;

// The order whose slowest link is the fastest; among those the one with the largest sum of links, among those
// the first in the alphabet of ranks. order[0] is 0, order[i] sends to order[i + 1], and the last one to rank 0.
//
// bandwidth: ranks x ranks, row-major, of finite B/s from 0 (no link) to 1e15; [from][to] may differ from
// [to][from], the diagonal is not read. Links are compared as whole bytes a second.
//
// Exact up to 14 ranks, by dynamic programming over the subsets of ranks, O(2^n n^2). Above, the best of the
// rings that a local search finds from several greedy ones; the same input always gives the same order.
Status ring_order(int ranks, std::span<const double> bandwidth, std::vector<int>& order);

// B/s of the slowest link of a ring; of one rank infinite. `order` holds every rank of the matrix once.
double slowest_link(std::span<const int> order, std::span<const double> bandwidth);

}  // namespace rondo
