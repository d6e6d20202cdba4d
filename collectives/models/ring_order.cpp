#include <rondo/collectives/models/ring_order.h>
#include <rondo/collectives/models/ring_search.h>
#include <rondo/kernels/core/counted.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rondo {

namespace {

constexpr double kMostBandwidth = 1e15;  // the sum of 64 such links is exact in 64 bits

Status check_matrix(int ranks, std::span<const double> bandwidth) {
  if (ranks < 1 || ranks > kMostRanksInOrder)
    return bad_argument("ring_order: ranks is ", ranks, ", must be from 1 to ", kMostRanksInOrder);
  const auto n = static_cast<size_t>(ranks);
  if (bandwidth.size() != n * n)
    return bad_argument("ring_order: bandwidth has ", counted(bandwidth.size(), "entry", "entries"),
                        ", must be ", n * n, ", one for each pair of ", counted(ranks, "rank"));
  for (size_t i = 0; i < n * n; ++i) {
    const bool valid = bandwidth[i] >= 0 && bandwidth[i] <= kMostBandwidth;  // NaN fails
    if (i / n != i % n && !valid)
      return bad_argument("ring_order: bandwidth from rank ", i / n, " to rank ", i % n, " is ", bandwidth[i],
                          ", must be from 0 to ", kMostBandwidth, " B/s");
  }
  return {};
}

}  // namespace

Status ring_order(int ranks, std::span<const double> bandwidth, std::vector<int>& order) {
  RONDO_RETURN_IF_ERROR(check_matrix(ranks, bandwidth));
  const auto n = static_cast<size_t>(ranks);
  ring::LinkTable links(ranks);
  for (size_t i = 0; i < n * n; ++i)
    if (i / n != i % n)
      links.set(static_cast<int>(i / n), static_cast<int>(i % n), std::llround(bandwidth[i]));
  order = ranks <= ring::kMostRanksExact ? ring::best_ring(links) : ring::good_ring(links);
  return {};
}

double slowest_link(std::span<const int> order, std::span<const double> bandwidth) {
  double slowest = std::numeric_limits<double>::infinity();
  if (order.size() < 2) return slowest;
  for (size_t i = 0; i < order.size(); ++i) {
    const auto from = static_cast<size_t>(order[i]);
    const auto to = static_cast<size_t>(order[(i + 1) % order.size()]);
    slowest = std::min(slowest, bandwidth[from * order.size() + to]);
  }
  return slowest;
}

}  // namespace rondo
