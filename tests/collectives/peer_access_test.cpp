// Devices without peer access, or that only report it: the communicator detects it, and every operation still
// returns correct results.
#include <rondo/tests/collectives/mixed_work.h>

#include <simt/faults.h>

namespace rondo::test {
namespace {

constexpr int kDevices = 4;

// A fault of the links from device `from` to device `to`.
struct Fault {
  const char* name;
  simt::PeerAccess access;
  bool (*concerns)(int from, int to);
};

class PeerLinks : public testing::TestWithParam<Fault> {
 protected:
  static void SetUpTestSuite() {
    if (device_count() < kDevices) GTEST_SKIP() << "needs " << kDevices << " devices";
  }
  void SetUp() override { set(GetParam().access); }
  void TearDown() override { set(simt::PeerAccess::works); }

  static bool concerned(int from, int to) { return from != to && GetParam().concerns(from, to); }
  static void set(simt::PeerAccess access) {
    for (int from = 0; from < kDevices; ++from)
      for (int to = 0; to < kDevices; ++to)
        if (concerned(from, to)) {
          ASSERT_EQ(simt::set_peer_access(from, to, access), cudaSuccess);
        }
  }
};
INSTANTIATE_TEST_SUITE_P(
    All, PeerLinks,
    testing::Values(Fault{"all_absent", simt::PeerAccess::absent, [](int, int) { return true; }},
                    Fault{"all_broken", simt::PeerAccess::broken, [](int, int) { return true; }},
                    Fault{"one_way_absent", simt::PeerAccess::absent,
                          [](int from, int to) { return from == 2 && to == 1; }},
                    Fault{"one_way_broken", simt::PeerAccess::broken,
                          [](int from, int to) { return from == 0 && to == 3; }},
                    Fault{"halves_broken", simt::PeerAccess::broken,
                          [](int from, int to) { return from / 2 != to / 2; }}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_P(PeerLinks, AreVerifiedByWriteAndReadBack) {
  for (int from = 0; from < kDevices; ++from)
    for (int to = 0; to < kDevices; ++to) {
      const PeerAccess expected = from == to                                      ? PeerAccess::same_device
                                  : !concerned(from, to)                          ? PeerAccess::direct
                                  : GetParam().access == simt::PeerAccess::absent ? PeerAccess::unsupported
                                                                                  : PeerAccess::broken;
      EXPECT_STREQ(name_of(connect(from, to)), name_of(expected)) << "from " << from << " to " << to;
    }
  const Communicator communicator({0, 1, 2, 3});
  EXPECT_FALSE(communicator.all_reach_all());
  for (int from = 0; from < kDevices; ++from)
    for (int to = 0; to < kDevices; ++to)
      EXPECT_EQ(communicator.reaches(from, to), !concerned(from, to)) << "from " << from << " to " << to;
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

// The bits are the same with and without peer access.
TEST_P(PeerLinks, DoNotShowInTheBits) {
  const auto inputs = normal_inputs(4, 1001, 3);
  for (const SumOrder order : {SumOrder::left_to_right, SumOrder::balanced_tree}) {
    std::vector<std::vector<float>> results;
    for (const bool repaired : {false, true}) {
      if (repaired) set(simt::PeerAccess::works);
      CommunicatorFixture fixture({0, 1, 2, 3}, 256);
      ASSERT_EQ(fixture.communicator.all_reach_all(), repaired);
      RankVectors data(fixture.devices, inputs, 1);
      ASSERT_TRUE(ok(all_reduce(data.views(), {.algorithm = Algorithm::direct, .order = order},
                                fixture.communicator, fixture.handles)));
      fixture.synchronize();
      results.push_back(data.download(2));
    }
    EXPECT_TRUE(all_equal_bits(results[0], results[1]));
    set(GetParam().access);
  }
}

}  // namespace
}  // namespace rondo::test
