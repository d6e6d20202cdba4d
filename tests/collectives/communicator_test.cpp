#include <rondo/tests/collectives/communicator_fixture.h>
#include <rondo/tests/collectives/stream_blocker.h>
#include <rondo/tests/kernels/launch_names.h>
#include <rondo/tests/support/skip_without_devices.h>

#include <cstdlib>
#include <set>

#ifdef __SIMT__
#include <simt/faults.h>
#endif

namespace rondo::test {
namespace {

// The Status with which the constructor of a communicator fails.
Status refusal(std::vector<int> devices, int64_t slot_bytes = 64) {
  try {
    Communicator communicator(std::move(devices), {.slot_bytes = slot_bytes, .bucket_bytes = 0});
  } catch (const Error& error) {
    return error.status();
  }
  return {};
}

TEST(Communicator, RefusesImpossibleDevicesAndSlots) {
  EXPECT_TRUE(refused(refusal({}), "the list of devices is empty"));
  EXPECT_TRUE(refused(refusal({0, -1}), "the device of rank 1 is -1"));
  EXPECT_TRUE(refused(refusal({0, 0, device_count()}), "the device of rank 2 is"));
  EXPECT_TRUE(refused(refusal({0, 0}, 63), "slot_bytes is 63, must be at least 64"));
  EXPECT_TRUE(refused(refusal({0, 0}, -16), "slot_bytes is -16"));
  EXPECT_TRUE(ok(refusal({0, 0}, 64)));
  EXPECT_TRUE(refused(refusal(std::vector<int>(65, 0)), "there are 65 ranks, must be 1 to 64"));
}

#ifdef __SIMT__
TEST(Communicator, NamesADriverThatIsTooOld) {
  simt::set_driver(simt::Driver::insufficient);
  const Status status = refusal({0, 0});
  simt::set_driver(simt::Driver::current);
  EXPECT_EQ(status.code(), StatusCode::device_failed);
  EXPECT_NE(status.message().find("cudaErrorInsufficientDriver"), std::string::npos) << status.message();
}

// A driver before CUDA 12.8 does not know the device of a stream: it is not checked then.
TEST(Communicator, WorksWithAnOlderDriver) {
  CommunicatorFixture fixture(place(3, Placement::spread));
  UnguardedVectors vectors(fixture);
  simt::set_driver(simt::Driver::older);
  const Status status = all_reduce(vectors.views, {}, fixture.communicator, fixture.handles);
  simt::set_driver(simt::Driver::current);
  EXPECT_TRUE(ok(status));
  EXPECT_TRUE(ok(fixture.communicator.wait(fixture.handles, std::chrono::seconds(30))));
}
#endif

// bytes_per_rank() refuses the options that the constructor refuses.
TEST(Communicator, RefusesImpossibleOptions) {
  const auto options_error = [](int ranks, const CommunicatorOptions& options) -> Status {
    try {
      Communicator::bytes_per_rank(ranks, options);
    } catch (const Error& error) {
      return error.status();
    }
    return {};
  };
  EXPECT_TRUE(ok(options_error(64, {})));
  for (const int ranks : {0, -1, 65})
    EXPECT_TRUE(refused(options_error(ranks, {}), concat("there are ", ranks, " ranks, must be 1 to 64")));
  EXPECT_TRUE(refused(options_error(2, {.slot_bytes = -16}), "slot_bytes is -16"));
  EXPECT_TRUE(refused(options_error(3, {.ring_order = {0, 1}}), "ring_order has 2 entries, must have 3"));
  EXPECT_TRUE(
      refused(options_error(3, {.ring_order = {0, 3, 1}}), "ring_order[1] is 3, must be a rank from 0"));
  EXPECT_TRUE(
      refused(options_error(3, {.ring_order = {0, 1, 0}}), "ring_order[2] is 0, must be a rank from 0"));
  EXPECT_TRUE(refused(options_error(2, {.slot_bytes = INT64_MAX}), "slot_bytes is 9223372036854775807"));
  EXPECT_TRUE(refused(options_error(2, {.bucket_bytes = -1}), "bucket_bytes is -1"));
  EXPECT_TRUE(refused(options_error(2, {.bucket_bytes = INT64_MAX}), "bucket_bytes is 9223372036854775807"));
  EXPECT_TRUE(refused(options_error(4, {.group_size = -2}), "group_size is -2"));
  constexpr int64_t kMost = int64_t{1} << 50;
  EXPECT_TRUE(ok(options_error(64, {.slot_bytes = kMost, .bucket_bytes = kMost})));
  EXPECT_TRUE(refused(options_error(2, {.slot_bytes = kMost + 1}), "must be at most 1125899906842624"));
  EXPECT_TRUE(refused(options_error(2, {.bucket_bytes = kMost + 1}), "must be at most 1125899906842624"));
}

TEST(Communicator, ReportsOutOfMemoryAndTheNextOneWorks) {
  EXPECT_EQ(refusal({0, 0}, int64_t{1} << 49).code(), StatusCode::out_of_resources);
  EXPECT_TRUE(refused(refusal({0, 0}, INT64_MAX), "slot_bytes is 9223372036854775807, must be at most"));
  EXPECT_TRUE(ok(refusal({0, 0})));
}

TEST(Communicator, KeepsItsOptions) {
  const std::vector<int> devices = place(5, Placement::pairs);
  Communicator communicator(devices, {.slot_bytes = 1000, .bucket_bytes = 100});
  ASSERT_EQ(communicator.size(), 5);
  EXPECT_EQ(communicator.options().slot_bytes, 1008);
  for (int rank = 0; rank < 5; ++rank)
    EXPECT_EQ(communicator.device(rank), devices[static_cast<size_t>(rank)]);
}

TEST(Communicator, SlotsLieApartAlignedOnTheirRanksDevice) {
  const std::vector<int> devices = place(4, Placement::pairs);
  Communicator communicator(devices, {.slot_bytes = 80, .bucket_bytes = 32});
  RankResources& resources = communicator.resources();
  std::set<const std::byte*> begins;
  for (int rank = 0; rank < 4; ++rank)
    for (const std::byte* begin :
         {resources.inbox(rank, 0), resources.inbox(rank, 1), resources.outbox(rank, 0),
          resources.outbox(rank, 1), resources.bucket(rank)}) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(begin) % ring::kChunkAlignment, 0u);
      for (const std::byte* other : begins) EXPECT_GE(std::abs(begin - other), 80);
      begins.insert(begin);
      cudaPointerAttributes attributes;
      ASSERT_EQ(cudaPointerGetAttributes(&attributes, begin), cudaSuccess);
      EXPECT_EQ(attributes.device, devices[static_cast<size_t>(rank)]);
    }
}

TEST(Communicator, ConnectsItsDevicesBothWays) {
  Communicator communicator(place(3, Placement::spread));
  for (int device : place(3, Placement::spread))
    for (int peer : place(3, Placement::spread)) {
      int reachable = 0;
      if (device == peer) continue;
      ASSERT_EQ(cudaDeviceCanAccessPeer(&reachable, device, peer), cudaSuccess);
      if (!reachable) continue;
      DeviceScope scope(device);
      EXPECT_EQ(cudaDeviceEnablePeerAccess(peer, 0), cudaErrorPeerAccessAlreadyEnabled);
      EXPECT_EQ(cudaGetLastError(), cudaErrorPeerAccessAlreadyEnabled) << "and takes the error away";
    }
}

// The number of kernels of trials in the construction of a communicator.
int64_t launches_of_trials(const std::vector<int>& devices) {
  const LaunchNames launched;
  EXPECT_TRUE(ok(refusal(devices)));
  return std::count(launched.names.begin(), launched.names.end(), "peer access trial");
}

TEST(Communicator, TriesEachLinkOnce) {
  SKIP_WITHOUT_DEVICES(3);
  int reachable = 0;
  ASSERT_EQ(cudaDeviceCanAccessPeer(&reachable, 0, 1), cudaSuccess);
  if (!reachable) GTEST_SKIP() << "the devices do not reach each other";
  forget_trials();
  const int64_t of_a_link = launches_of_trials({0, 1});
  EXPECT_GT(of_a_link, 0);
  EXPECT_EQ(launches_of_trials({1, 0}), 0) << "the process keeps the result";
  forget_trials();
  EXPECT_EQ(launches_of_trials({0, 1, 0, 1, 1}), of_a_link);
  EXPECT_EQ(launches_of_trials({0, 1, 2}), 2 * of_a_link) << "two new links";
}

TEST(Communicator, MayBeMadeManyTimesOverTheSameDevices) {
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(ok(refusal(place(8, Placement::spread))));
}

TEST(Communicator, LeavesTheCurrentDeviceAlone) {
  const int last = device_count() - 1;
  DeviceScope scope(last);
  EXPECT_TRUE(ok(refusal(place(3, Placement::spread))));
  int current = -1;
  ASSERT_EQ(cudaGetDevice(&current), cudaSuccess);
  EXPECT_EQ(current, last);
}

}  // namespace
}  // namespace rondo::test
