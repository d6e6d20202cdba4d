// The best ring by dynamic programming. A line is a path that starts at rank 0. value(visited, last) is the
// best value of the remaining links if the line contains the ranks `visited`, including rank 0, and ends at
// `last`. Values are computed from the full line backwards, in two passes: the first maximises the slowest
// link; the second forbids slower links and maximises the sum. Then the line is built forwards, always with
// the smallest rank that keeps the best value.
#include <rondo/collectives/models/ring_search.h>

#include <algorithm>
#include <limits>

namespace rondo::ring {

namespace {

constexpr int64_t kImpossible = -1;

// Join(link, rest) is the value of a line whose next link is `link`; `rest` is the value after that link.
template <class Join>
class Lines {
 public:
  Lines(const LinkTable& links, int64_t end, Join join)
      : links_(links),
        ranks_(links.ranks()),
        everyone_((uint32_t{1} << ranks_) - 1),
        end_(end),
        join_(join),
        values_(int64_t{1} * ranks_ << ranks_, kImpossible) {
    for (uint32_t visited = everyone_; visited > 0; visited -= 1)
      if (visited & 1)
        for (int last = 0; last < ranks_; ++last)
          if (visited >> last & 1) at(visited, last) = best_from(visited, last);
  }

  int64_t best() const { return value(1, 0); }

  std::vector<int> walk() const {
    std::vector<int> order = {0};
    for (uint32_t visited = 1; visited != everyone_; visited |= uint32_t{1} << order.back()) {
      const int last = order.back();
      int next = 1;
      while ((visited >> next & 1) || through(visited, last, next) != value(visited, last)) ++next;
      order.push_back(next);
    }
    return order;
  }

 private:
  int64_t index(uint32_t visited, int last) const { return int64_t{visited} * ranks_ + last; }
  int64_t& at(uint32_t visited, int last) { return values_[index(visited, last)]; }
  int64_t value(uint32_t visited, int last) const { return values_[index(visited, last)]; }

  int64_t through(uint32_t visited, int last, int next) const {
    return join_(links_.at(last, next), value(visited | uint32_t{1} << next, next));
  }

  int64_t best_from(uint32_t visited, int last) const {
    if (visited == everyone_) return join_(links_.at(last, 0), end_);
    int64_t best = kImpossible;
    for (int next = 1; next < ranks_; ++next)
      if (!(visited >> next & 1)) best = std::max(best, through(visited, last, next));
    return best;
  }

  const LinkTable& links_;
  int ranks_;
  uint32_t everyone_;
  int64_t end_;
  Join join_;
  Indexed<std::vector<int64_t>> values_;
};

}  // namespace

std::vector<int> best_ring(const LinkTable& links) {
  if (links.ranks() == 1) return {0};
  const auto slower = [](int64_t link, int64_t rest) { return std::min(link, rest); };
  const int64_t slowest = Lines(links, std::numeric_limits<int64_t>::max(), slower).best();
  const auto sum = [slowest](int64_t link, int64_t rest) {
    return link < slowest || rest == kImpossible ? kImpossible : link + rest;
  };
  return Lines(links, 0, sum).walk();
}

}  // namespace rondo::ring
