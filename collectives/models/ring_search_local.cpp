// A good ring for many ranks. Greedy rings start at several ranks and always follow the fastest remaining
// link. Each is improved with two moves until neither helps: 2-opt reverses a section; or-opt moves a short
// section elsewhere without reversing it, which suits links whose two directions differ.
#include <rondo/collectives/models/ring_search.h>

#include <algorithm>
#include <limits>
#include <random>
#include <tuple>

namespace rondo::ring {

namespace {

using Order = PerRank<int>;

constexpr int kStarts = 8;        // greedy rings to improve
constexpr int kLongestMoved = 3;  // most ranks that or-opt moves together
constexpr int kKicks = 100;       // random changes to the best ring, each improved again
constexpr uint32_t kSeed = 2026;  // fixed: the same input gives the same order

// The quality of a ring. During the search, the number of links as slow as the slowest counts before the sum:
// if there are two, no single move makes the slowest link faster, but a move can reduce their number.
struct Quality {
  int64_t slowest = std::numeric_limits<int64_t>::max();
  int slowest_links = 0;
  int64_t sum = 0;
};

Quality quality_of(const LinkTable& links, const Order& order) {
  Quality quality;
  int from = order.back();
  for (const int to : order) {
    const int64_t link = links.at(from, to);
    if (link < quality.slowest) quality = {link, 0, quality.sum};
    if (link == quality.slowest) ++quality.slowest_links;
    quality.sum += link;
    from = to;
  }
  return quality;
}

bool leads_further(const Quality& a, const Quality& b) {
  return std::tuple(a.slowest, -a.slowest_links, a.sum) > std::tuple(b.slowest, -b.slowest_links, b.sum);
}

Order greedy(const LinkTable& links, int start) {
  Order order = {start};
  PerRank<bool> taken(links.ranks(), false);
  taken[start] = true;
  while (order.count() < links.ranks()) {
    int next = -1;
    for (int rank = 0; rank < links.ranks(); ++rank) {
      if (!taken[rank] && (next < 0 || links.at(order.back(), rank) > links.at(order.back(), next)))
        next = rank;
    }
    order.push_back(next);
    taken[next] = true;
  }
  return order;
}

// The moves on one ring. A move that adds a link slower than the slowest is rejected at once, which is fast.
class Improvement {
 public:
  Improvement(const LinkTable& links, Order& order)
      : links_(links), order_(order), n_(order.count()), quality_(quality_of(links, order)) {}

  void run() {
    while (move_once()) {
    }
  }

 private:
  // Makes the first move that improves the ring. Returns false if there is none.
  bool move_once() {
    for (int begin = 0; begin < n_; ++begin) {
      for (int end = begin + 2; end <= n_; ++end)
        if (turn_round(begin, end)) return true;
      for (int end = begin + 1; end <= std::min(begin + kLongestMoved, n_); ++end) {
        for (int to = 0; to < begin; ++to)
          if (exchange(to, begin, end)) return true;
        for (int to = end + 1; to <= n_; ++to)
          if (exchange(begin, end, to)) return true;
      }
    }
    return false;
  }

  bool turn_round(int begin, int end) {
    if (end - begin == n_ || slower(begin - 1, end - 1) || slower(begin, end)) return false;
    moved_ = order_;
    std::reverse(moved_.begin() + begin, moved_.begin() + end);
    return take_if_better();
  }

  // Exchanges the sections [begin, middle) and [middle, end).
  bool exchange(int begin, int middle, int end) {
    if (end - begin == n_) return false;  // the same ring
    if (slower(begin - 1, middle) || slower(end - 1, begin) || slower(middle - 1, end)) return false;
    moved_ = order_;
    std::rotate(moved_.begin() + begin, moved_.begin() + middle, moved_.begin() + end);
    return take_if_better();
  }

  // Whether the link between two positions is slower than all links in the ring.
  bool slower(int from, int to) const { return links_.at(at(from), at(to)) < quality_.slowest; }
  int at(int place) const { return order_[(place + n_) % n_]; }

  bool take_if_better() {
    const Quality quality = quality_of(links_, moved_);
    if (!leads_further(quality, quality_)) return false;
    order_ = moved_;
    quality_ = quality;
    return true;
  }

  const LinkTable& links_;
  Order& order_;
  int n_;
  Quality quality_;
  Order moved_;
};

// Cuts the ring at three random positions and exchanges the two sections between them. The moves above cannot
// undo this in one move.
Order kicked(const Order& order, std::mt19937& random) {
  const auto n = static_cast<uint32_t>(order.size());
  std::ptrdiff_t cuts[3];
  for (std::ptrdiff_t& cut : cuts) cut = static_cast<std::ptrdiff_t>(random() % (n + 1));
  std::sort(std::begin(cuts), std::end(cuts));
  Order result = order;
  std::rotate(result.begin() + cuts[0], result.begin() + cuts[1], result.begin() + cuts[2]);
  return result;
}

void start_with_rank_0(Order& order) {
  std::rotate(order.begin(), std::find(order.begin(), order.end(), 0), order.end());
}

}  // namespace

std::vector<int> good_ring(const LinkTable& links) {
  Order best;
  const auto consider = [&](Order order) {
    Improvement(links, order).run();
    start_with_rank_0(order);
    if (best.empty()) {
      best = order;
      return;
    }
    const Quality now = quality_of(links, order), before = quality_of(links, best);
    if (std::tuple(-now.slowest, -now.sum, order) < std::tuple(-before.slowest, -before.sum, best))
      best = order;
  };
  for (int i = 0; i < kStarts; ++i) consider(greedy(links, i * links.ranks() / kStarts));
  std::mt19937 random(kSeed);
  for (int i = 0; i < kKicks; ++i) consider(kicked(best, random));
  return best;
}

}  // namespace rondo::ring
