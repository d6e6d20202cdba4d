#include <rondo/collectives/models/ring_order.h>
#include <rondo/collectives/models/ring_search.h>
#include <rondo/kernels/core/counted.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rondo {

namespace {

constexpr double kMostBandwidth = 1e15;  // the sum of 64 such links is exact in 64 bits

Status check_matrix(int ranks, const Indexed<std::span<const double>>& bandwidth) {
  if (ranks < 1 || ranks > kMostRanksInOrder)
    return bad_argument("ring_order: ranks is ", ranks, ", must be from 1 to ", kMostRanksInOrder);
  const int pairs = ranks * ranks;
  if (bandwidth.count() != pairs)
    return bad_argument("ring_order: bandwidth has ", counted(bandwidth.size(), "entry", "entries"),
                        ", must be ", pairs, ", one for each pair of ", counted(ranks, "rank"));
  for (int i = 0; i < pairs; ++i) {
    const int from = i / ranks, to = i % ranks;
    const bool valid = bandwidth[i] >= 0 && bandwidth[i] <= kMostBandwidth;  // NaN fails
    if (from != to && !valid)
      return bad_argument("ring_order: bandwidth from rank ", from, " to rank ", to, " is ", bandwidth[i],
                          ", must be from 0 to ", kMostBandwidth, " B/s");
  }
  return {};
}

}  // namespace

Status ring_order(int ranks, std::span<const double> bandwidth, std::vector<int>& order) {
  const Indexed matrix(bandwidth);
  RONDO_RETURN_IF_ERROR(check_matrix(ranks, matrix));
  ring::LinkTable links(ranks);
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (from != to) links.set(from, to, std::llround(matrix[from * ranks + to]));
  order = ranks <= ring::kMostRanksExact ? ring::best_ring(links) : ring::good_ring(links);
  return {};
}

double slowest_link(std::span<const int> order, std::span<const double> bandwidth) {
  double slowest = std::numeric_limits<double>::infinity();
  const Indexed ring(order);
  const Indexed matrix(bandwidth);
  for (int i = 0, n = ring.count(); n > 1 && i < n; ++i)
    slowest = std::min(slowest, matrix[ring[i] * n + ring[(i + 1) % n]]);
  return slowest;
}

}  // namespace rondo
