// Every element of all_reduce() is correct: a selection of the grid that covers every pair of values of
// ranks, size, type, reduction, algorithm, alignment, placement and slot size. all_reduce_full_grid_test.cpp
// runs the whole grid.
#include <rondo/tests/collectives/all_reduce_case.h>
#include <rondo/tests/collectives/settings.h>

namespace rondo::test {
namespace {

constexpr int kRanks[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16};
constexpr Algorithm kAnyAlgorithm[] = {Algorithm::ring, Algorithm::direct, Algorithm::root,
                                       Algorithm::hierarchical, Algorithm::automatic};
constexpr Placement kPlacements[] = {Placement::spread, Placement::together, Placement::pairs};
constexpr int64_t kSlotBytes[] = {64, 96 + 15, 2048, 64 << 10};
constexpr int kSizes = 8;

int64_t size_number(int index, int ranks) {
  const int64_t sizes[kSizes] = {0, 1, ranks - 1, ranks, ranks + 1, 2 * ranks - 1, 1000, 4099};
  return sizes[index];
}

class AllReduceGrid : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Seed, AllReduceGrid, testing::Range(1, 5));

TEST_P(AllReduceGrid, EveryElementIsRight) {
  FixtureCache fixtures;
  const std::vector<int> extents = {std::size(kRanks),
                                    kSizes,
                                    std::size(kDTypes),
                                    std::size(kReductions),
                                    std::size(kAnyAlgorithm),
                                    2,
                                    std::size(kPlacements),
                                    std::size(kSlotBytes),
                                    16,
                                    16,
                                    2};
  for (const GridPoint& p : pairwise(extents, static_cast<uint64_t>(GetParam()))) {
    const auto at = [&p](const auto& values, size_t dimension) {
      return values[static_cast<size_t>(p[dimension])];
    };
    const int ranks = at(kRanks, 0);
    const int64_t size = size_number(p[1], ranks);
    const DType dtype = at(kDTypes, 2);
    const AllReduceCase c{.algorithm = at(kAnyAlgorithm, 4),
                          .reduction = at(kReductions, 3),
                          .in_place = p[5] == 1,
                          .input_offset = p[8],
                          .output_offset = p[9],
                          .staggered = p[10] == 1};
    CommunicatorFixture& fixture = fixtures.of(ranks, at(kPlacements, 6), at(kSlotBytes, 7));
    fixture.poison_scratch();
    visit(dtype, [&](auto element) {
      const auto data =
          exact_data<decltype(element)>(c.reduction, ranks, size, static_cast<uint64_t>(size) + 1);
      ASSERT_TRUE(all_reduces(fixture, c, data))
          << ranks << " ranks " << at(kPlacements, 6) << ", " << size << " elements, " << name_of(dtype)
          << ", slots of " << at(kSlotBytes, 7) << " bytes";
    });
    if (HasFatalFailure()) return;
  }
}

// Chunks above kSplitBytes are split; chunks of more than a slot per segment take several rounds.
TEST(AllReduceLarge, EveryElementIsRight) {
  FixtureCache fixtures;
  int next = 0;
  for (const Algorithm algorithm : kAlgorithms)
    for (const int ranks : {2, 3, 8}) {
      const DType dtype = kDTypes[static_cast<size_t>(next++) % std::size(kDTypes)];
      const AllReduceCase c{
          .algorithm = algorithm, .in_place = ranks == 3, .input_offset = 1, .output_offset = 5};
      visit(dtype, [&](auto element) {
        const auto data = exact_data<decltype(element)>(c.reduction, ranks, 600'011, 3);
        for (const int64_t slot_bytes : {64 << 10, 4 << 20})
          ASSERT_TRUE(all_reduces(fixtures.of(ranks, Placement::spread, slot_bytes), c, data))
              << ranks << " ranks, " << name_of(dtype) << ", slots of " << slot_bytes << " bytes";
      });
    }
}

}  // namespace
}  // namespace rondo::test
