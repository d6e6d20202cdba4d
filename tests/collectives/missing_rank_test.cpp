// A rank that never arrives: wait() returns in time and names it, later calls on the communicator fail, and a
// new communicator on other streams works at once, while the old work is still stuck.
#include <rondo/tests/collectives/stream_blocker.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <thread>

namespace rondo::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
constexpr milliseconds kTimeout{500};

struct Case {
  Algorithm algorithm;
  int missing;
  std::string others;  // the message's text about a rank that arrived
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.algorithm << ", rank " << c.missing << " is missing";
}

class MissingRank : public testing::TestWithParam<Case> {
 protected:
  static constexpr int kRanks = 3;

  // The operation is stuck; wait() times out as requested.
  Status wait_until_timeout() {
    const auto begin = Clock::now();
    Status status = old_->communicator.wait(old_->handles, kTimeout);
    const auto took = Clock::now() - begin;
    EXPECT_GE(took, kTimeout);
    EXPECT_LT(took, 2 * kTimeout);
    return status;
  }

  std::optional<CommunicatorFixture> old_{std::in_place, place(kRanks, Placement::spread)};
  std::optional<UnguardedVectors> old_vectors_{std::in_place, *old_};
};
INSTANTIATE_TEST_SUITE_P(
    All, MissingRank,
    testing::Values(
        Case{Algorithm::ring, 1, "rank 0 has received chunk 2 of step 0, rank 2 has received nothing"},
        Case{Algorithm::ring, 0, "rank 1 has received nothing, rank 2 has received chunk 1 of step 0"},
        Case{Algorithm::direct, 2, ""}, Case{Algorithm::root, 1, ""}));

TEST_P(MissingRank, IsNamedAndLeftBehind) {
#ifdef __SIMT__
  if (simt::settings().allocation_waits) GTEST_SKIP() << "allocations wait for the stuck device";
#endif
  const Case& c = GetParam();
  std::optional<CommunicatorFixture> fresh;
  std::optional<UnguardedVectors> fresh_vectors;
  {
    StreamBlocker blocker(old_->handles[static_cast<size_t>(c.missing)]);
    ASSERT_TRUE(
        ok(all_reduce(old_vectors_->views, {.algorithm = c.algorithm}, old_->communicator, old_->handles)));
    const Status status = wait_until_timeout();
    EXPECT_EQ(status.code(), StatusCode::timed_out);
    EXPECT_TRUE(message_contains(
        status, concat("all_reduce was not done after 500 ms: rank ", c.missing, " has not arrived")))
        << status.message();
    EXPECT_TRUE(message_contains(status, c.others)) << status.message();
    EXPECT_FALSE(message_contains(status, concat("rank ", (c.missing + 1) % kRanks, " has not arrived")))
        << status.message();
    EXPECT_EQ(old_->communicator.state().message(), status.message());
    EXPECT_EQ(old_->communicator.wait(old_->handles, kTimeout).message(), status.message()) << "at once";

    const auto begin = Clock::now();
    fresh.emplace(place(kRanks, Placement::spread));
    fresh_vectors.emplace(*fresh);
    ASSERT_TRUE(ok(
        all_reduce(fresh_vectors->views, {.algorithm = c.algorithm}, fresh->communicator, fresh->handles)));
    ASSERT_TRUE(ok(fresh->communicator.wait(fresh->handles, milliseconds(10'000))));
    for (size_t rank = 0; rank < kRanks; ++rank)
      EXPECT_TRUE(all_equal_bits(fresh_vectors->buffers[rank].download(), fresh_vectors->data.want));
    old_.reset();
    EXPECT_LT(Clock::now() - begin, milliseconds(5000)) << "something waited for the stuck device";
  }
  for (const int device : place(kRanks, Placement::spread)) {
    DeviceScope scope(device);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << "what was left behind ends in peace";
  }
}

TEST_F(MissingRank, EverythingIsRefusedAfterwards) {
  CommunicatorFixture& fixture = *old_;
  {
    StreamBlocker blocker(fixture.handles[2]);
    ASSERT_TRUE(ok(barrier(fixture.communicator, fixture.handles)));
    const Status status = wait_until_timeout();
    EXPECT_TRUE(message_contains(status, "barrier was not done after 500 ms: rank 2 has not arrived"))
        << status.message();
  }
  const auto expect_aborted = [&](const char* operation, const Status& status) {
    EXPECT_EQ(status.code(), StatusCode::timed_out) << operation;
    EXPECT_TRUE(message_contains(
        status, concat(operation, ": the communicator was aborted: barrier was not done after 500 ms: ",
                       "rank 2 has not arrived")))
        << status.message();
  };
  const auto& v = old_vectors_->views;
  const std::vector<ConstDataView> in(v.begin(), v.end());
  Communicator& c = fixture.communicator;
  const auto& streams = fixture.handles;
  std::vector<DataView> blocks;
  std::vector<std::vector<DataView>> lists;
  for (const DataView& view : v) {
    blocks.push_back(view.part(0, 4));
    lists.push_back({view});
  }
  const std::vector<ConstDataView> block_inputs(blocks.begin(), blocks.end());
  expect_aborted("all_reduce", all_reduce(v, {}, c, streams));
  expect_aborted("all_reduce_coalesced", all_reduce_coalesced(lists, {}, c, streams));
  expect_aborted("reduce_scatter", reduce_scatter(blocks, in, {}, c, streams));
  expect_aborted("all_gather", all_gather(v, block_inputs, Algorithm::ring, c, streams));
  expect_aborted("broadcast", broadcast(v, in[0], 0, Algorithm::ring, c, streams));
  expect_aborted("reduce", reduce(v[0], in, 0, {}, c, streams));
  expect_aborted("all_to_all", all_to_all(v, in, c, streams));
  expect_aborted("barrier", barrier(c, streams));
}

// The rings of all_reduce_coalesced() record the same events, which therefore do not tell how far a rank is.
TEST_F(MissingRank, ReportsNoStepsOfSeveralRings) {
  std::vector<std::vector<DataView>> lists;
  for (const DataView& view : old_vectors_->views) lists.push_back({view.part(0, 8), view.part(8, 4)});
  StreamBlocker blocker(old_->handles[1]);
  ASSERT_TRUE(
      ok(all_reduce_coalesced(lists, {.algorithm = Algorithm::ring}, old_->communicator, old_->handles)));
  EXPECT_TRUE(message_contains(wait_until_timeout(),
                               "all_reduce_coalesced was not done after 500 ms: rank 1 has not arrived"));
  EXPECT_FALSE(message_contains(old_->communicator.state(), "received"));
}

// Ranks whose streams become free one after another, in any order. CUDA may run host functions one at a time,
// so all are in one stream.
class StaggeredRanks {
 public:
  StaggeredRanks(const CommunicatorFixture& fixture, const std::vector<size_t>& order) {
    for (const size_t rank : order) {
      blockers_.push_back(std::make_unique<StreamBlocker>(stream_));
      RONDO_CUDA_THROW(cudaEventRecord(events_.emplace_back(), stream_));
      const DeviceScope scope(fixture.devices[rank]);
      RONDO_CUDA_THROW(cudaStreamWaitEvent(fixture.handles[rank], events_.back(), 0));
    }
  }
  void release(size_t place) { blockers_[place]->release(); }

 private:
  const Stream stream_;
  std::deque<Event> events_;
  std::vector<std::unique_ptr<StreamBlocker>> blockers_;
};

// The ranks' streams do not depend on each other here: wait() must look at each.
TEST(Wait, ReturnsWhenTheLastRankIsDone) {
  CommunicatorFixture fixture(place(3, Placement::spread));
  std::vector<size_t> order = {0, 1, 2};
  do {
    StaggeredRanks ranks(fixture, order);
    std::atomic<bool> last_released = false;
    std::thread releases([&] {
      for (size_t place = 0; place < order.size(); ++place) {
        std::this_thread::sleep_for(milliseconds(30));
        last_released = place + 1 == order.size();
        ranks.release(place);
      }
    });
    const Status status = fixture.communicator.wait(fixture.handles, milliseconds(20'000));
    EXPECT_TRUE(last_released) << "the last is rank " << order.back();
    releases.join();
    EXPECT_TRUE(ok(status));
    for (const cudaStream_t stream : fixture.handles) EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
  } while (std::next_permutation(order.begin(), order.end()));
}

// Ranks that arrive late one after another do not extend the time for the others.
TEST(Wait, CountsTheTimeOfAllRanksTogether) {
  CommunicatorFixture fixture(place(3, Placement::spread));
  {
    StaggeredRanks ranks(fixture, {0, 1, 2});
    std::thread releases([&] {
      for (const size_t place : {0, 1}) {
        std::this_thread::sleep_for(milliseconds(350));
        ranks.release(place);
      }
    });
    const auto begin = Clock::now();
    const Status status = fixture.communicator.wait(fixture.handles, milliseconds(750));
    const auto took = Clock::now() - begin;
    releases.join();
    EXPECT_EQ(status.code(), StatusCode::timed_out) << status.message();
    EXPECT_GE(took, milliseconds(750));
    EXPECT_LT(took, milliseconds(1300)) << "700 ms for the others, and 750 more";
  }
  fixture.synchronize();
}

TEST(Wait, ReturnsOkWhenAllIsDone) {
  CommunicatorFixture fixture(place(3, Placement::spread));
  UnguardedVectors vectors(fixture);
  ASSERT_TRUE(ok(fixture.communicator.wait(fixture.handles, milliseconds(0)))) << "nothing was enqueued";
  ASSERT_TRUE(ok(all_reduce(vectors.views, {}, fixture.communicator, fixture.handles)));
  EXPECT_TRUE(ok(fixture.communicator.wait(fixture.handles, milliseconds(10'000))));
  for (const Buffer<float>& buffer : vectors.buffers)
    EXPECT_TRUE(all_equal_bits(buffer.download(), vectors.data.want));
  EXPECT_TRUE(refused(fixture.communicator.wait({}, milliseconds(1)), "there are 0 streams, must be 3"));
  EXPECT_TRUE(ok(fixture.communicator.state())) << "a bad argument changes nothing";
}

TEST(Wait, ReportsThatGraphsAreNotTracked) {
  CommunicatorFixture fixture({0});
  CommunicatorFixture two({0, 0});
  two.handles.assign(2, fixture.handles[0]);
  UnguardedVectors vectors(two);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(two.handles[0], cudaStreamCaptureModeThreadLocal), cudaSuccess);
  const Status captured =
      all_reduce(vectors.views, {.algorithm = Algorithm::ring}, two.communicator, two.handles);
  ASSERT_EQ(cudaStreamEndCapture(two.handles[0], &graph), cudaSuccess);
  ASSERT_TRUE(ok(captured));
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  {
    StreamBlocker blocker(two.handles[0]);
    ASSERT_EQ(cudaGraphLaunch(executable, two.handles[0]), cudaSuccess);
    const Status status = two.communicator.wait(two.handles, milliseconds(50));
    EXPECT_EQ(status.code(), StatusCode::timed_out);
    EXPECT_TRUE(message_contains(status, "the progress of replayed graphs is not known")) << status.message();
  }
  ASSERT_EQ(cudaStreamSynchronize(two.handles[0]), cudaSuccess);
  ASSERT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST(Abort, TheFirstReasonStays) {
  CommunicatorFixture fixture(place(2, Placement::spread));
  fixture.communicator.abort(Status(StatusCode::out_of_resources, "the trainer has stopped"));
  fixture.communicator.abort(Status(StatusCode::device_failed, "later"));
  EXPECT_EQ(fixture.communicator.state().message(), "the trainer has stopped");
  const Status status = barrier(fixture.communicator, fixture.handles);
  EXPECT_EQ(status.code(), StatusCode::out_of_resources);
  EXPECT_EQ(status.message(), "barrier: the communicator was aborted: the trainer has stopped");
}

}  // namespace
}  // namespace rondo::test
