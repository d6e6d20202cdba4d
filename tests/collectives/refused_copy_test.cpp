// Each call for a copy of an all-reduce is refused in turn, as if memory were short. What was enqueued before
// runs while the callers' streams are waited for, and not after the vectors are freed.
#include <rondo/tests/collectives/communicator_fixture.h>
#include <rondo/tests/collectives/stream_blocker.h>
#include <rondo/tests/support/peer_links.h>
#include <rondo/tests/support/skip_without_devices.h>

namespace rondo::test {
namespace {

constexpr int kThreeRanks = 3;

struct RefusedCase {
  Algorithm algorithm;
  bool staged;  // without peer access
};
class RefusedCopy : public testing::TestWithParam<RefusedCase> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_DEVICES(kThreeRanks);
    if (GetParam().staged) set_all_links(simt::PeerAccess::absent);
  }
  void TearDown() override {
    simt::refuse_copy(0);
    simt::set_seed(std::nullopt);
    set_all_links(simt::PeerAccess::works);
  }

  // Returns the result of an all-reduce whose k-th copy is refused.
  static Status attempt(uint64_t k, uint64_t seed) {
    CommunicatorFixture fixture({0, 1, 2}, 64);
    UnguardedVectors vectors(fixture, 70, k);
    simt::set_seed(seed);  // nothing runs until the host waits
    simt::refuse_copy(k);
    Status status =
        all_reduce(vectors.views, {.algorithm = GetParam().algorithm}, fixture.communicator, fixture.handles);
    simt::refuse_copy(0);
    EXPECT_EQ(fixture.communicator.state().code(), status.code());
    for (const cudaStream_t stream : fixture.handles) EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    vectors.buffers.clear();
    simt::set_seed(std::nullopt);  // waits for the work of all devices
    return status;
  }
};
INSTANTIATE_TEST_SUITE_P(All, RefusedCopy,
                         testing::Values(RefusedCase{Algorithm::ring, false},
                                         RefusedCase{Algorithm::direct, true},
                                         RefusedCase{Algorithm::root, false},
                                         RefusedCase{Algorithm::hierarchical, true}),
                         [](const auto& info) {
                           return concat(name_of(info.param.algorithm), info.param.staged ? "_staged" : "");
                         });

TEST_P(RefusedCopy, LeavesNoWorkBehindThatTheCallersDoNotWaitFor) {
  uint64_t k = 1;
  for (Status status(StatusCode::out_of_resources, ""); !status.ok(); ++k)
    for (uint64_t seed = 0; seed < 5; ++seed) {
      status = attempt(k, seed);
      if (!status.ok()) {
        EXPECT_EQ(status.code(), StatusCode::out_of_resources);
        EXPECT_NE(status.message().find("; the results of all ranks are invalid"), std::string::npos)
            << status.message();
      }
      for (int device = 0; device < kThreeRanks; ++device) {
        const DeviceScope scope(device);
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess)
            << "copy " << k << ", seed " << seed << ": " << simt::last_fault().message;
      }
    }
  EXPECT_GT(k, 3u) << "hardly any copies were made";
}

}  // namespace
}  // namespace rondo::test
