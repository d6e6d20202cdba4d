// The hierarchical all-reduce in one process: every type, reduction, size and grouping, the documented order
// of additions, and devices without peer access.
#include <rondo/collectives/across_hosts/process_group.h>
#include <rondo/tests/across_hosts/documented_sum.h>
#include <rondo/tests/collectives/all_reduce_case.h>
#include <rondo/tests/collectives/communicator_fixture.h>
#include <rondo/tests/collectives/exact_data.h>
#include <rondo/tests/collectives/settings.h>
#include <rondo/tests/support/test_process.h>

#ifdef __SIMT__
#include <rondo/tests/support/peer_links.h>
#include <rondo/tests/support/skip_without_devices.h>
#include <simt/settings.h>
#endif

namespace rondo::test {
namespace {

CommunicatorOptions in_groups(int m, int64_t slot_bytes) {
  CommunicatorOptions options{.slot_bytes = slot_bytes, .bucket_bytes = 4096};
  options.group_size = m;
  return options;
}

struct Grouping {
  int ranks, m;
};
constexpr Grouping kGroupings[] = {{1, 1}, {2, 1}, {4, 2}, {4, 1},  {6, 3},
                                   {6, 2}, {8, 4}, {5, 5}, {12, 3}, {7, 1}};

class Hierarchical : public testing::TestWithParam<Grouping> {};
INSTANTIATE_TEST_SUITE_P(Groups, Hierarchical, testing::ValuesIn(kGroupings), [](const auto& info) {
  return concat(info.param.ranks, "ranks_by_", info.param.m);
});

TEST_P(Hierarchical, ReducesEveryTypeAndSize) {
  const auto [ranks, m] = GetParam();
  for (const int64_t slot_bytes : {1024, 64 << 10}) {
    CommunicatorFixture fixture(place(ranks, Placement::pairs), in_groups(m, slot_bytes));
    uint64_t seed = 0;
    for (const int64_t size : {1, 3, 16, 257, 3001})
      for (const DType dtype : kDTypes)
        for (const Reduction reduction : kReductions) {
          ++seed;
          fixture.poison_scratch();
          const AllReduceCase c{.algorithm = Algorithm::hierarchical,
                                .reduction = reduction,
                                .in_place = seed % 2 == 0,
                                .input_offset = static_cast<int64_t>(seed % 5),
                                .output_offset = static_cast<int64_t>(seed % 3),
                                .staggered = seed % 4 == 0};
          visit(dtype, [&](auto element) {
            using T = decltype(element);
            ASSERT_TRUE(all_reduces(fixture, c, exact_data<T>(reduction, ranks, size, seed)))
                << name_of(dtype) << ", " << size << " elements";
          });
        }
  }
}

template <class T>
std::vector<std::vector<T>> normals(int ranks, int64_t size) {
  std::vector<std::vector<T>> inputs;
  for (const std::vector<float>& values : normal_inputs(ranks, size, 3)) {
    std::vector<T>& input = inputs.emplace_back();
    for (float value : values) input.push_back(static_cast<T>(value));
  }
  return inputs;
}

template <class T>
void expect_documented_order(Grouping grouping, int64_t size) {
  CommunicatorFixture fixture(place(grouping.ranks, Placement::spread), in_groups(grouping.m, 1024));
  const auto inputs = normals<T>(grouping.ranks, size);
  TypedVectors<T> data(fixture.devices, inputs);
  ASSERT_TRUE(ok(all_reduce(data.views(), {.algorithm = Algorithm::hierarchical}, fixture.communicator,
                            fixture.handles)));
  fixture.synchronize();
  const auto want = hierarchical_sum(inputs, static_cast<size_t>(grouping.m));
  for (size_t rank = 0; rank < inputs.size(); ++rank)
    ASSERT_TRUE(all_equal_bits(data.download(rank), want)) << "rank " << rank << ", " << size << " elements";
}

TEST_P(Hierarchical, AddsInTheDocumentedOrder) {
  for (const int64_t size : {5, 1000, 4099}) {
    expect_documented_order<float>(GetParam(), size);
    expect_documented_order<double>(GetParam(), size);
    expect_documented_order<__nv_bfloat16>(GetParam(), size);
    expect_documented_order<__half>(GetParam(), size);
  }
}

// Each stream copies its result and poisons its memory directly after the operation.
TEST_P(Hierarchical, IsOrderedByItsEvents) {
  const auto [ranks, m] = GetParam();
  constexpr int64_t kSize = 300;
  CommunicatorFixture fixture(place(ranks, Placement::spread), in_groups(m, 1024));
  const auto inputs = normals<float>(ranks, kSize);
  const auto once = hierarchical_sum(inputs, static_cast<size_t>(m));
  const auto twice =
      hierarchical_sum(std::vector<std::vector<float>>(inputs.size(), once), static_cast<size_t>(m));
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const RandomOrder order(seed);
    RankVectors in(fixture.devices, inputs), out(fixture.devices, kSize), result(fixture.devices, kSize);
    fixture.poison_scratch();
    ASSERT_TRUE(ok(sum_by(Algorithm::hierarchical, fixture, out, in)));
    ASSERT_TRUE(ok(sum_by(Algorithm::hierarchical, fixture, out)));
    for (size_t rank = 0; rank < inputs.size(); ++rank) {
      const DataView from = out.views()[rank], to = result.views()[rank];
      const auto bytes = static_cast<size_t>(from.bytes());
      RONDO_CUDA_THROW(
          cudaMemcpyAsync(to.data, from.data, bytes, cudaMemcpyDeviceToDevice, fixture.handles[rank]));
      RONDO_CUDA_THROW(cudaMemsetAsync(from.data, 0xFF, bytes, fixture.handles[rank]));
    }
    fixture.synchronize();
    for (size_t rank = 0; rank < inputs.size(); ++rank)
      ASSERT_TRUE(all_equal_bits(result.download(rank), twice)) << "seed " << seed << ", rank " << rank;
  }
}

// The ring inside a group uses the communicator's ring order; the order of the groups is fixed.
TEST(Hierarchical, FollowsTheRingOrderInsideItsGroups) {
  CommunicatorOptions options = in_groups(3, 1024);
  options.ring_order = {4, 1, 3, 0, 2, 5};  // group 0: 1, 0, 2; group 1: 4, 3, 5
  CommunicatorFixture fixture(place(6, Placement::spread), options);
  const auto inputs = normals<float>(6, 777);
  RankVectors data(fixture.devices, inputs);
  ASSERT_TRUE(ok(sum_by(Algorithm::hierarchical, fixture, data)));
  fixture.synchronize();
  const auto want =
      hierarchical_sum<float>({inputs[1], inputs[0], inputs[2], inputs[4], inputs[3], inputs[5]}, 3);
  for (size_t rank = 0; rank < 6; ++rank) ASSERT_TRUE(all_equal_bits(data.download(rank), want));
}

TEST(Hierarchical, FusesManyVectors) {
  CommunicatorFixture fixture(place(4, Placement::spread), in_groups(2, 1024));
  std::vector<RankVectors> vectors;
  std::vector<std::vector<DataView>> lists(4);
  const auto inputs = exact_inputs(4, 300, 9);
  for (int k = 0; k < 5; ++k) {
    vectors.emplace_back(fixture.devices, inputs);
    for (int rank = 0; rank < 4; ++rank)
      lists[static_cast<size_t>(rank)].push_back(vectors.back().view(rank));
  }
  ASSERT_TRUE(ok(all_reduce_coalesced(lists, {.algorithm = Algorithm::hierarchical}, fixture.communicator,
                                      fixture.handles)));
  fixture.synchronize();
  const auto want = hierarchical_sum(inputs, 2);
  for (const RankVectors& vector : vectors)
    for (size_t rank = 0; rank < 4; ++rank) ASSERT_TRUE(all_equal_bits(vector.download(rank), want));
}

#ifdef __SIMT__
TEST(Hierarchical, CopiesWhereDevicesDoNotReachEachOther) {
  SKIP_WITHOUT_DEVICES(4);
  struct WithoutPeerAccess {
    WithoutPeerAccess() { set(simt::PeerAccess::absent); }
    ~WithoutPeerAccess() { set(simt::PeerAccess::works); }
    static void set(simt::PeerAccess access) {
      for (int a = 0; a < 2; ++a)
        for (int b = 2; b < 4; ++b) {
          static_cast<void>(simt::set_peer_access(a, b, access));
          static_cast<void>(simt::set_peer_access(b, a, access));
        }
    }
  } without_peer_access;
  CommunicatorFixture fixture(place(4, Placement::spread), in_groups(2, 1024));
  ASSERT_FALSE(fixture.communicator.all_reach_all());
  expect_documented_order<float>({4, 2}, 3001);
  expect_documented_order<__nv_bfloat16>({4, 2}, 3001);
  expect_documented_order<float>({4, 1}, 3001);
  uint64_t seed = 0;
  for (const Reduction reduction : kReductions)
    for (const int64_t size : {1, 37, 2000})
      ASSERT_TRUE(all_reduces(
          fixture, {.algorithm = Algorithm::hierarchical, .reduction = reduction, .staggered = true},
          exact_data<uint8_t>(reduction, 4, size, ++seed)));
}
#endif

// "made", or the error.
std::string making(int ranks, int m, int64_t slot_bytes) {
  try {
    const Communicator communicator(place(ranks, Placement::spread), in_groups(m, slot_bytes));
  } catch (const Error& error) {
    return error.what();
  }
  return "made";
}

// A slot holds a segment and, without peer access, a slice of every group. The average of bytes needs most:
// its partial sums are four times as long as the data.
TEST(Hierarchical, WorksWithTheSmallestSlotsAndRefusesSmallerOnes) {
  const auto check = [](int ranks, int m, int64_t least) {
    SCOPED_TRACE(concat(ranks, " ranks in groups of ", m));
    for (const int64_t slot_bytes : {least - 64, least - 1})
      EXPECT_EQ(making(ranks, m, slot_bytes),
                concat("communicator: slot_bytes is ", slot_bytes, ", must be at least ", least, " for ",
                       ranks / m, " groups"));
    CommunicatorFixture fixture(place(ranks, Placement::spread), in_groups(m, least));
    for (const int64_t size : {1, 16, 17, 70 * m})
      ASSERT_TRUE(all_reduces(fixture,
                              {.algorithm = Algorithm::hierarchical, .reduction = Reduction::average},
                              exact_data<uint8_t>(Reduction::average, ranks, size, 11)))
          << size;
  };
  const auto check_all = [&] {
    for (const auto& [ranks, m, least] : {std::tuple{2, 1, 192},
                                          {4, 2, 192},
                                          {4, 1, 320},
                                          {6, 3, 192},
                                          {6, 2, 256},
                                          {8, 4, 192},
                                          {9, 1, 640}})
      check(ranks, m, least);
  };
  check_all();
  check(64, 1, 64 * 65);  // as many groups as one sum can have
#ifdef __SIMT__
  set_all_links(simt::PeerAccess::absent);
  check_all();
  set_all_links(simt::PeerAccess::works);
#endif
  for (const int ranks : {1, 4}) {
    EXPECT_EQ(making(ranks, ranks, 64), "made") << "a single group";
    EXPECT_EQ(making(ranks, ranks, 63), "communicator: slot_bytes is 63, must be at least 64");
  }
}

TEST(Hierarchical, RefusesGroupsThatDoNotFit) {
  const auto making = [](int m, int64_t slot_bytes) { return test::making(6, m, slot_bytes); };
  EXPECT_EQ(making(3, 1024), "made");
  EXPECT_EQ(making(6, 64), "made");
  EXPECT_EQ(making(4, 1024), "communicator: group_size is 4, must be 0 or divide 6, the number of ranks");
  EXPECT_EQ(making(-1, 1024), "communicator: group_size is -1, must be 0 or divide 6, the number of ranks");
  EXPECT_EQ(making(1, 64), "communicator: slot_bytes is 64, must be at least 448 for 6 groups");
  CommunicatorFixture fixture(place(4, Placement::spread), in_groups(2, 1024));
  RankVectors data(fixture.devices, 10);
  EXPECT_TRUE(refused(
      all_reduce(data.views(), {.algorithm = Algorithm::hierarchical, .order = SumOrder::balanced_tree},
                 fixture.communicator, fixture.handles),
      "a balanced tree, which the algorithm hierarchical does not have"));
}

// Processes that do not exist. Messages fail.
class ImaginaryProcesses : public TestProcess {
 public:
  explicit ImaginaryProcesses(int size) : TestProcess(size, 0) {}
  Status exchange(std::span<const Message>, std::span<const Message>, int, const std::string&) override {
    return Status(StatusCode::timed_out, "nobody answers");
  }
};

std::string making_across(int processes, int64_t slot_bytes) {
  ImaginaryProcesses group(processes);
  CommunicatorOptions options = in_groups(0, slot_bytes);
  options.processes = &group;
  try {
    const Communicator communicator(place(2, Placement::spread), options);
  } catch (const Error& error) {
    return error.what();
  }
  return "made";
}

// One sum has at most kMaxRanks parts.
TEST(Hierarchical, TakesAtMost64Processes) {
  const auto making = [](int processes) { return making_across(processes, 1024); };
  EXPECT_NE(making(64).find("nobody answers"), std::string::npos);
  EXPECT_EQ(making(65), "communicator: there are 65 processes, must be at most 64");
}

#ifdef __SIMT__
// A slot is a message. The device has too little memory for such slots: the limit is checked first.
TEST(Hierarchical, TakesSlotsOfAtMost1GiBAcrossProcesses) {
  constexpr int64_t kMost = int64_t{1} << 30;
  ASSERT_EQ(simt::set_memory_limit(0, size_t{1} << 20), cudaSuccess);
  EXPECT_EQ(making_across(2, kMost + 1),
            "communicator: slot_bytes is 1073741825, must be at most 1073741824 across processes");
  EXPECT_NE(making_across(2, kMost).find("memory"), std::string::npos);
  ASSERT_EQ(simt::set_memory_limit(0, simt::settings().memory_bytes), cudaSuccess);
}
#endif

}  // namespace
}  // namespace rondo::test
