// Devices without peer access, or with links that lose or corrupt data: the communicator detects it, and
// every operation still returns correct results.
#include <rondo/tests/collectives/mixed_work.h>
#include <rondo/tests/support/skip_without_devices.h>

#include <simt/faults.h>

namespace rondo::test {
namespace {

constexpr int kDevices = 4;

using simt::PeerCopies;

// A fault of the links from device `from` to device `to`: of kernels, or of copies.
struct Fault {
  const char* name;
  simt::PeerAccess access;
  simt::PeerCopies copies;
  bool (*concerns)(int from, int to);
};

bool every(int, int) { return true; }
bool one_way(int from, int to) { return from == 2 && to == 1; }
bool between_halves(int from, int to) { return from / 2 != to / 2; }

class PeerLinks : public testing::TestWithParam<Fault> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_DEVICES(kDevices);
    set(GetParam().access, GetParam().copies);
  }
  void TearDown() override {
    if (!IsSkipped()) repair();
  }

  // A pair of devices uses both directions of its link or none.
  static bool concerned(int a, int b) {
    return a != b && (GetParam().concerns(a, b) || GetParam().concerns(b, a));
  }
  static void set(simt::PeerAccess access, simt::PeerCopies copies) {
    for (int from = 0; from < kDevices; ++from)
      for (int to = 0; to < kDevices; ++to)
        if (from != to && GetParam().concerns(from, to)) {
          ASSERT_EQ(simt::set_peer_access(from, to, access), cudaSuccess);
          ASSERT_EQ(simt::set_peer_copies(from, to, copies), cudaSuccess);
        }
    forget_trials();
  }
  static void repair() { set(simt::PeerAccess::works, simt::PeerCopies::work); }
};
INSTANTIATE_TEST_SUITE_P(
    All, PeerLinks,
    testing::Values(Fault{"all_absent", simt::PeerAccess::absent, PeerCopies::work, every},
                    Fault{"one_way_absent", simt::PeerAccess::absent, PeerCopies::work, one_way},
                    Fault{"all_broken", simt::PeerAccess::broken, PeerCopies::work, every},
                    Fault{"one_way_broken", simt::PeerAccess::broken, PeerCopies::work, one_way},
                    Fault{"halves_broken", simt::PeerAccess::broken, PeerCopies::work, between_halves},
                    Fault{"all_loads_wrong", simt::PeerAccess::wrong_loads, PeerCopies::work, every},
                    Fault{"one_way_loads_wrong", simt::PeerAccess::wrong_loads, PeerCopies::work, one_way},
                    Fault{"all_copies_corrupted", simt::PeerAccess::works, PeerCopies::corrupted, every},
                    Fault{"one_way_copies_corrupted", simt::PeerAccess::works, PeerCopies::corrupted,
                          one_way},
                    Fault{"all_copies_lost", simt::PeerAccess::works, PeerCopies::lost, every},
                    Fault{"one_way_copies_lost", simt::PeerAccess::works, PeerCopies::lost, one_way}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_P(PeerLinks, AreTriedInBothDirections) {
  const char* const expected = GetParam().access == simt::PeerAccess::absent ? "unsupported" : "broken";
  for (int a = 0; a < kDevices; ++a)
    for (int b = 0; b < kDevices; ++b)
      EXPECT_STREQ(name_of(connect(a, b)), a == b            ? "same device"
                                           : concerned(a, b) ? expected
                                                             : "direct")
          << "from " << a << " to " << b;
  const Communicator communicator({0, 1, 2, 3});
  EXPECT_FALSE(communicator.all_reach_all());
  for (int a = 0; a < kDevices; ++a)
    for (int b = 0; b < kDevices; ++b)
      EXPECT_EQ(communicator.reaches(a, b), !concerned(a, b)) << "from " << a << " to " << b;
}

TEST_P(PeerLinks, AreNotNeeded) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    CommunicatorFixture fixture({0, 1, 2, 3}, mixed_options(4));
    MixedWork work(fixture);
    work.upload(seed);
    RandomOrder order(seed);
    ASSERT_TRUE(ok(work.enqueue(fixture.handles)));
    fixture.synchronize();
    ASSERT_TRUE(work.right()) << "seed " << seed;
  }
}

// Vectors that are long enough for every fault.
TEST_P(PeerLinks, CarryNoLargeVectors) {
  CommunicatorFixture fixture({0, 1, 2, 3}, int64_t{2} << 20);
  const auto inputs = exact_inputs(4, 400'000, 7);
  for (const Algorithm algorithm : kAlgorithms) {
    RankVectors data(fixture.devices, inputs);
    ASSERT_TRUE(ok(sum_by(algorithm, fixture, data)));
    fixture.synchronize();
    const std::vector<float> sum = documented_sum(inputs, algorithm);
    for (size_t rank = 0; rank < 4; ++rank)
      EXPECT_TRUE(all_equal_bits(data.download(rank), sum)) << algorithm << ", rank " << rank;
  }
}

// The bits are the same with and without peer access.
TEST_P(PeerLinks, DoNotShowInTheBits) {
  const auto inputs = normal_inputs(4, 1001, 3);
  for (const SumOrder order : {SumOrder::left_to_right, SumOrder::balanced_tree}) {
    std::vector<std::vector<float>> results;
    for (const bool repaired : {false, true}) {
      if (repaired) repair();
      CommunicatorFixture fixture({0, 1, 2, 3}, 256);
      ASSERT_EQ(fixture.communicator.all_reach_all(), repaired);
      RankVectors data(fixture.devices, inputs, 1);
      ASSERT_TRUE(ok(all_reduce(data.views(), {.algorithm = Algorithm::direct, .order = order},
                                fixture.communicator, fixture.handles)));
      fixture.synchronize();
      results.push_back(data.download(2));
    }
    EXPECT_TRUE(all_equal_bits(results[0], results[1]));
    set(GetParam().access, GetParam().copies);
  }
}

}  // namespace
}  // namespace rondo::test
