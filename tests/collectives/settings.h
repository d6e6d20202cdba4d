// A cache of fixtures, because creating one takes longer than using it, and the settings in which the
// operations are tested.
#pragma once

#include <rondo/tests/collectives/communicator_fixture.h>
#include <rondo/tests/collectives/pairwise.h>

#include <map>
#include <numeric>
#include <tuple>

namespace rondo::test {

// A random ring order that depends only on the number of ranks.
inline std::vector<int> shuffled_ring(int ranks) {
  std::vector<int> order(static_cast<size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  Random random(static_cast<uint64_t>(ranks));
  for (size_t left = order.size(); left > 1; --left)
    std::swap(order[left - 1], order[static_cast<size_t>(random.below(static_cast<int64_t>(left)))]);
  return order;
}

class FixtureCache {
 public:
  CommunicatorFixture& of(int ranks, Placement placement, int64_t slot_bytes, bool shuffled = false) {
    auto& fixture = fixtures_[{ranks, placement, slot_bytes, shuffled}];
    if (!fixture) {
      CommunicatorOptions options{.slot_bytes = slot_bytes, .bucket_bytes = 0};
      if (shuffled) options.ring_order = shuffled_ring(ranks);
      if (slot_bytes >= 2048 && ranks % 2 == 0)
        options.group_size = ranks / 2;  // a slot must hold one slice per group
      fixture = std::make_unique<CommunicatorFixture>(place(ranks, placement), options);
    }
    return *fixture;
  }

 private:
  std::map<std::tuple<int, Placement, int64_t, bool>, std::unique_ptr<CommunicatorFixture>> fixtures_;
};

// The parameters that all operations have in common.
struct Setting {
  int ranks = 1;
  Placement placement = Placement::spread;
  int64_t slot_bytes = 64;
  bool shuffled = false;  // the ring order
  int64_t size = 0;       // of a block
  DType dtype = DType::float32;
  Reduction reduction = Reduction::sum;
  Algorithm algorithm = Algorithm::ring;
  bool in_place = false;
  int64_t offset = 0, other_offset = 0;  // of inputs and outputs, in elements from a 256-byte boundary
  uint64_t seed = 0;
};

inline std::ostream& operator<<(std::ostream& out, const Setting& s) {
  return out << s.ranks << " ranks " << s.placement << ", slots of " << s.slot_bytes << " bytes"
             << (s.shuffled ? ", ring shuffled" : "") << ", blocks of " << s.size << " " << name_of(s.dtype)
             << ", " << name_of(s.reduction) << " by " << name_of(s.algorithm)
             << (s.in_place ? " in place" : " out of place") << ", offsets " << s.offset << " and "
             << s.other_offset;
}

// Calls try_one(fixture, setting) with settings drawn from the seed, so that every pair of values of any two
// fields occurs.
template <class Try>
void for_settings(uint64_t seed, Try try_one) {
  constexpr int kRanks[] = {1, 2, 3, 4, 5, 8, 13};
  constexpr Placement kPlacements[] = {Placement::spread, Placement::together, Placement::pairs};
  constexpr int64_t kSlotBytes[] = {64, 1024, 64 << 10};
  constexpr int64_t kSizes[] = {0, 1, 3, 4, 31, 257, 1000};
  constexpr Algorithm kMovers[] = {Algorithm::ring, Algorithm::direct, Algorithm::automatic};
  const std::vector<int> extents = {std::size(kRanks),
                                    std::size(kPlacements),
                                    std::size(kSlotBytes),
                                    2,
                                    std::size(kSizes),
                                    std::size(kDTypes),
                                    std::size(kReductions),
                                    std::size(kMovers),
                                    2,
                                    16,
                                    16};
  FixtureCache fixtures;
  for (const GridPoint& p : pairwise(extents, seed)) {
    const auto at = [&p](const auto& values, size_t dimension) {
      return values[static_cast<size_t>(p[dimension])];
    };
    const Setting s{.ranks = at(kRanks, 0),
                    .placement = at(kPlacements, 1),
                    .slot_bytes = at(kSlotBytes, 2),
                    .shuffled = p[3] == 1,
                    .size = at(kSizes, 4),
                    .dtype = at(kDTypes, 5),
                    .reduction = at(kReductions, 6),
                    .algorithm = at(kMovers, 7),
                    .in_place = p[8] == 1,
                    .offset = p[9],
                    .other_offset = p[10],
                    .seed = seed};
    CommunicatorFixture& fixture = fixtures.of(s.ranks, s.placement, s.slot_bytes, s.shuffled);
    fixture.poison_scratch();
    SCOPED_TRACE(concat(s));
    try_one(fixture, s);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// Elements [rank * size, (rank + 1) * size).
template <class T>
std::vector<T> block_of(const std::vector<T>& values, int rank, int64_t size) {
  const auto begin = values.begin() + rank * size;
  return {begin, begin + size};
}

}  // namespace rondo::test
