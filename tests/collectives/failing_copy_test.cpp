// Each copy of an all-reduce fails in turn: no call returns ok with a wrong result.
#include <rondo/tests/collectives/communicator_fixture.h>
#include <rondo/tests/collectives/stream_blocker.h>
#include <rondo/tests/support/failed_device.h>
#include <rondo/tests/support/peer_links.h>
#include <rondo/tests/support/skip_without_devices.h>

namespace rondo::test {
namespace {

constexpr int kRanks = 3;
constexpr auto kLongEnough = std::chrono::milliseconds(20'000);

struct Parameters {
  Algorithm algorithm;
  bool staged;  // without peer access
  bool lazy;    // the copy fails while the host waits; otherwise it may fail while the host still enqueues
};
class FailingCopy : public testing::TestWithParam<Parameters> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_DEVICES(3);
    if (GetParam().staged) set_all_links(simt::PeerAccess::absent);
    testing::internal::CaptureStderr();  // the executor reports faults on stderr
  }
  void TearDown() override {
    if (IsSkipped()) return;
    simt::fail_copy(0);
    simt::set_seed(std::nullopt);
    set_all_links(simt::PeerAccess::works);
    testing::internal::GetCapturedStderr();
  }

  enum class Outcome { no_such_copy, failed };

  // Runs an all-reduce whose k-th copy fails.
  void attempt(uint64_t k, Outcome& outcome) {
    {
      CommunicatorFixture fixture({0, 1, 2}, 64);
      const UnguardedVectors vectors(fixture, 70, k);
      if (GetParam().lazy) simt::set_seed(k);
      simt::fail_copy(k);
      const Status enqueued = all_reduce(vectors.views, {.algorithm = GetParam().algorithm},
                                         fixture.communicator, fixture.handles);
      const Status waited = fixture.communicator.wait(fixture.handles, kLongEnough);
      outcome = waited.ok() ? Outcome::no_such_copy : Outcome::failed;
      if (waited.ok()) {
        ASSERT_TRUE(ok(enqueued));
        for (const Buffer<float>& buffer : vectors.buffers)
          ASSERT_TRUE(all_equal_bits(buffer.download(), vectors.data.want));
      } else {
        expect_failure(fixture, vectors.views, enqueued, waited);
      }
      // Work of the other devices must be done before the memory is freed. A failed device cannot be
      // synchronised, but the executor waits for all devices here.
      simt::set_seed(std::nullopt);
    }
    for (int device = 0; device < kRanks; ++device) ASSERT_EQ(reset_device(device), cudaSuccess);
  }

  void expect_failure(CommunicatorFixture& fixture, const std::vector<DataView>& views,
                      const Status& enqueued, const Status& waited) {
    EXPECT_EQ(waited.code(), StatusCode::device_failed);
    EXPECT_NE(waited.message().find("rank "), std::string::npos) << waited.message();
    if (GetParam().lazy) {
      EXPECT_TRUE(ok(enqueued));
      EXPECT_NE(waited.message().find("the results of all ranks are invalid"), std::string::npos)
          << waited.message();
    }
    EXPECT_EQ(fixture.communicator.state().code(), StatusCode::device_failed);
    EXPECT_EQ(fixture.communicator.wait(fixture.handles, kLongEnough).code(), StatusCode::device_failed)
        << "at once";
    const Status next = all_reduce(views, {}, fixture.communicator, fixture.handles);
    EXPECT_EQ(next.code(), StatusCode::device_failed);
    EXPECT_NE(next.message().find("the communicator was aborted"), std::string::npos) << next.message();
  }
};
INSTANTIATE_TEST_SUITE_P(All, FailingCopy,
                         testing::Values(Parameters{Algorithm::ring, false, true},
                                         Parameters{Algorithm::ring, false, false},
                                         Parameters{Algorithm::direct, true, true},
                                         Parameters{Algorithm::direct, true, false},
                                         Parameters{Algorithm::root, false, true},
                                         Parameters{Algorithm::hierarchical, true, true}),
                         [](const auto& info) {
                           return concat(name_of(info.param.algorithm), info.param.staged ? "_staged" : "",
                                         info.param.lazy ? "" : "_at_once");
                         });

TEST_P(FailingCopy, NeverReturnsOkWithAWrongResult) {
  Outcome outcome = Outcome::failed;
  uint64_t k = 1;
  for (; outcome == Outcome::failed; ++k) {
    attempt(k, outcome);
    if (HasFailure()) FAIL() << "copy " << k;
  }
  EXPECT_GT(k, 6u) << "hardly any copies were made";
}

}  // namespace
}  // namespace rondo::test
