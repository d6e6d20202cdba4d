// A rank does not arrive while many operations are in flight: wait() names the first unfinished operation and
// the rank.
#include <rondo/tests/collectives/stream_blocker.h>

#include <functional>
#include <optional>
#include <thread>

namespace rondo::test {
namespace {

using std::chrono::milliseconds;
constexpr int kRanks = 3;
constexpr milliseconds kShortTimeout{250};

class LateRank : public testing::Test {
 protected:
  void wait_for_all() { ASSERT_TRUE(ok(fixture_.communicator.wait(fixture_.handles, milliseconds(20'000)))); }
  void enqueue_barriers(int count) {
    for (int i = 0; i < count; ++i) ASSERT_TRUE(ok(barrier(fixture_.communicator, fixture_.handles)));
  }
  std::string wait_until_timeout() {
    const Status status = fixture_.communicator.wait(fixture_.handles, kShortTimeout);
    EXPECT_EQ(status.code(), StatusCode::timed_out);
    return status.message();
  }
  // The message names `rank` and no other rank.
  static void expect_missing(const std::string& message, const std::string& operation, int rank) {
    EXPECT_EQ(message.find(concat(operation, " was not done after 250 ms: ")), 0u) << message;
    for (int other = 0; other < kRanks; ++other)
      EXPECT_EQ(message.find(concat("rank ", other, " has not arrived")) != std::string::npos, other == rank)
          << message;
  }

  // The bucket holds only one small vector, so all_reduce_coalesced() takes several rounds.
  CommunicatorFixture fixture_{place(kRanks, Placement::spread),
                               CommunicatorOptions{.slot_bytes = 1024, .bucket_bytes = 16}};
  UnguardedVectors data_{fixture_}, results_{fixture_};
};

// Calls `action` on a thread of its own after `delay`, unless it is destroyed before.
class Alarm {
 public:
  Alarm(milliseconds delay, std::function<void()> action)
      : thread_([this, delay, action = std::move(action)] {
          std::unique_lock lock(mutex_);
          if (!changed_.wait_for(lock, delay, [this] { return ended_; })) action();
        }) {}
  ~Alarm() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;
};

struct Operation {
  std::string name;
  std::function<Status(const UnguardedVectors& in, const UnguardedVectors& out, CommunicatorFixture&)>
      enqueue;
};
void PrintTo(const Operation& operation, std::ostream* out) { *out << operation.name; }

std::vector<ConstDataView> inputs(const UnguardedVectors& v) { return {v.views.begin(), v.views.end()}; }
std::vector<DataView> blocks(const UnguardedVectors& v) {
  std::vector<DataView> parts;
  for (const DataView& view : v.views) parts.push_back(view.part(0, view.size / kRanks));
  return parts;
}
Operation all_reduce_by(Algorithm algorithm) {
  return {"all_reduce", [=](const UnguardedVectors& in, const UnguardedVectors&, CommunicatorFixture& w) {
            return all_reduce(in.views, {.algorithm = algorithm}, w.communicator, w.handles);
          }};
}
Operation barriers() {
  return {"barrier", [](const UnguardedVectors&, const UnguardedVectors&, CommunicatorFixture& w) {
            return barrier(w.communicator, w.handles);
          }};
}
std::vector<Operation> operations() {
  std::vector<Operation> all;
  for (const Algorithm algorithm :
       {Algorithm::ring, Algorithm::direct, Algorithm::root, Algorithm::hierarchical})
    all.push_back(all_reduce_by(algorithm));
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
    all.push_back({"all_reduce_coalesced",
                   [=](const UnguardedVectors& in, const UnguardedVectors& out, CommunicatorFixture& w) {
                     std::vector<std::vector<DataView>> lists(kRanks);
                     for (size_t rank = 0; rank < kRanks; ++rank)
                       lists[rank] = {in.views[rank], out.views[rank].part(0, 3), out.views[rank].part(4, 8)};
                     return all_reduce_coalesced(lists, {.algorithm = algorithm}, w.communicator, w.handles);
                   }});
    all.push_back({"reduce_scatter",
                   [=](const UnguardedVectors& in, const UnguardedVectors& out, CommunicatorFixture& w) {
                     return reduce_scatter(blocks(out), inputs(in), {.algorithm = algorithm}, w.communicator,
                                           w.handles);
                   }});
    all.push_back(
        {"all_gather", [=](const UnguardedVectors& in, const UnguardedVectors& out, CommunicatorFixture& w) {
           const std::vector<DataView> parts = blocks(in);
           return all_gather(out.views, std::vector<ConstDataView>(parts.begin(), parts.end()), algorithm,
                             w.communicator, w.handles);
         }});
    all.push_back(
        {"broadcast", [=](const UnguardedVectors& in, const UnguardedVectors& out, CommunicatorFixture& w) {
           return broadcast(out.views, in.views[0], 0, algorithm, w.communicator, w.handles);
         }});
    all.push_back(
        {"reduce", [=](const UnguardedVectors& in, const UnguardedVectors& out, CommunicatorFixture& w) {
           return reduce(out.views[0], inputs(in), 0, {.algorithm = algorithm}, w.communicator, w.handles);
         }});
  }
  all.push_back(
      {"all_to_all", [](const UnguardedVectors& in, const UnguardedVectors& out, CommunicatorFixture& w) {
         return all_to_all(out.views, inputs(in), w.communicator, w.handles);
       }});
  return all;
}

class LateRankOf : public LateRank, public testing::WithParamInterface<Operation> {};
INSTANTIATE_TEST_SUITE_P(Any, LateRankOf, testing::ValuesIn(operations()));

TEST_P(LateRankOf, IsNamedThoughOthersFollow) {
  enqueue_barriers(5);
  wait_for_all();
  {
    StreamBlocker blocker(fixture_.handles[1]);
    ASSERT_TRUE(ok(GetParam().enqueue(data_, results_, fixture_)));
    enqueue_barriers(2);
    ASSERT_TRUE(ok(all_reduce_by(Algorithm::ring).enqueue(data_, results_, fixture_)));
    const std::string message = wait_until_timeout();
    expect_missing(message, GetParam().name, 1);
    EXPECT_NE(message.find("; 3 more operations wait behind it"), std::string::npos) << message;
    EXPECT_EQ(message.find("received"), std::string::npos) << "of which operation? " << message;
  }
  fixture_.synchronize();
}

// The host runs ahead as far as a stream's queue allows. The first operation is still known.
TEST_F(LateRank, IsNamedWithMoreInFlightThanAreTracked) {
  // A barrier is about four calls per stream, and queues hold a thousand or fewer.
  constexpr int kBarriers = OperationTracker::kTracked + 6;
  {
    StreamBlocker blocker(fixture_.handles[2]);
    enqueue_barriers(kBarriers);
    const std::string message = wait_until_timeout();
    expect_missing(message, "barrier", 2);
    EXPECT_NE(message.find(concat("; ", kBarriers - 1, " more operations wait behind it")), std::string::npos)
        << message;
  }
  fixture_.synchronize();
}

// A thread that enqueues without end blocks in the middle of an operation when a queue is full. Kernels fill
// queues; a barrier, which consists of records of events and waits for them, does so only with some drivers.
// wait() in another thread still returns in time, and the first thread's next call fails because the
// communicator was aborted. CUDA does not guarantee the first: it may serve no other thread while one is
// blocked. So a third thread ends the blockade without a call of CUDA.
class LateRankBehindAThread : public LateRank, public testing::WithParamInterface<Operation> {
 protected:
  // Enqueues until an operation fails, or until `end`.
  Status enqueue_until(std::chrono::steady_clock::time_point end) {
    constexpr int kFast = 10'000;  // far more than a queue holds
    Status last;
    for (int i = 0; last.ok() && std::chrono::steady_clock::now() < end; ++i) {
      last = GetParam().enqueue(data_, results_, fixture_);
      // A driver without a limit keeps everything in memory.
      if (i >= kFast) std::this_thread::sleep_for(milliseconds(1));
    }
    return last;
  }
};
INSTANTIATE_TEST_SUITE_P(Any, LateRankBehindAThread,
                         testing::Values(barriers(), all_reduce_by(Algorithm::ring)));

TEST_P(LateRankBehindAThread, IsReported) {
  constexpr milliseconds kRelease{5000};
  Status last;
  std::thread enqueues, probe;
  std::chrono::steady_clock::duration waited, probed;
  Status status;
  const Event event;
  {
    StreamBlocker blocker(fixture_.handles[2]);
    const Alarm alarm(kRelease, [&] { blocker.release(); });
    enqueues = std::thread([&] { last = enqueue_until(std::chrono::steady_clock::now() + kRelease); });
    std::this_thread::sleep_for(milliseconds(200));
    probe = std::thread([&] {
      const auto begin = std::chrono::steady_clock::now();
      static_cast<void>(cudaEventQuery(event));
      probed = std::chrono::steady_clock::now() - begin;
    });
    const auto begin = std::chrono::steady_clock::now();
    status = fixture_.communicator.wait(fixture_.handles, kShortTimeout);
    waited = std::chrono::steady_clock::now() - begin;
  }
  enqueues.join();
  probe.join();
  fixture_.synchronize();
  // A trivial call of a third thread tells whether CUDA served others at all.
  if (probed > milliseconds(4000)) GTEST_SKIP() << "this driver served no other thread while one was blocked";
  EXPECT_LT(waited, milliseconds(3000));
  EXPECT_EQ(status.code(), StatusCode::timed_out) << status.message();
  EXPECT_TRUE(message_contains(status, "a thread is still enqueuing") ||
              message_contains(status, "rank 2 has not arrived"))
      << status.message();
  EXPECT_EQ(last.code(), StatusCode::timed_out) << last.message();
}

// The sets of events have been reused many times, some of them while others were in use.
TEST_F(LateRank, IsNamedAfterThousandsAreDone) {
  for (int round = 0; round < 40; ++round) {
    enqueue_barriers(round * 4);
    if (round % 5 == 0) wait_for_all();
  }
  wait_for_all();
  {
    StreamBlocker blocker(fixture_.handles[0]);
    ASSERT_TRUE(ok(all_reduce_by(Algorithm::root).enqueue(data_, results_, fixture_)));
    enqueue_barriers(static_cast<int>(OperationTracker::kTracked) - 1);
    expect_missing(wait_until_timeout(), "all_reduce", 0);
  }
  fixture_.synchronize();
}

// Some operations in flight finish before the one that is stuck.
TEST_F(LateRank, IsNamedInTheMiddle) {
  {
    std::optional<StreamBlocker> all(std::in_place, fixture_.handles[0]);
    enqueue_barriers(30);
    const Event before;
    ASSERT_EQ(cudaEventRecord(before, fixture_.handles[0]), cudaSuccess);
    StreamBlocker blocker(fixture_.handles[2]);
    ASSERT_TRUE(ok(all_reduce_by(Algorithm::direct).enqueue(data_, results_, fixture_)));
    enqueue_barriers(50);
    all.reset();
    ASSERT_EQ(cudaEventSynchronize(before), cudaSuccess);
    expect_missing(wait_until_timeout(), "all_reduce", 2);
  }
  fixture_.synchronize();
}

// Operations without their own events are reported as unknown.
TEST_F(LateRank, IsUnknownBeyondTheTrackedOperations) {
  {
    std::optional<StreamBlocker> all(std::in_place, fixture_.handles[0]);
    enqueue_barriers(static_cast<int>(OperationTracker::kTracked) + 10);
    const Event before;
    ASSERT_EQ(cudaEventRecord(before, fixture_.handles[0]), cudaSuccess);
    StreamBlocker blocker(fixture_.handles[2]);
    enqueue_barriers(10);
    all.reset();
    ASSERT_EQ(cudaEventSynchronize(before), cudaSuccess);
    const std::string message = wait_until_timeout();
    EXPECT_NE(message.find("barrier was not done after 250 ms: no rank has arrived; more than 64 operations"),
              std::string::npos)
        << message;
  }
  fixture_.synchronize();
}

// Only what follows an operation without its own events is unknown, not every later operation.
TEST_F(LateRank, IsNamedAfterTheUnknownOnesAreDone) {
  {
    StreamBlocker blocker(fixture_.handles[2]);
    enqueue_barriers(static_cast<int>(OperationTracker::kTracked) + 10);
  }
  wait_for_all();
  enqueue_barriers(1);
  wait_for_all();
  {
    const Stream apart;
    const Event blocked;
    const StreamBlocker blocker(apart);
    ASSERT_EQ(cudaEventRecord(blocked, apart), cudaSuccess);
    for (size_t rank = 0; rank < kRanks; ++rank) {
      const DeviceScope scope(fixture_.devices[rank]);
      ASSERT_EQ(cudaStreamWaitEvent(fixture_.handles[rank], blocked, 0), cudaSuccess);
    }
    enqueue_barriers(1);
    const std::string message = wait_until_timeout();
    EXPECT_NE(message.find("rank 0 has not arrived, rank 1 has not arrived, rank 2 has not arrived"),
              std::string::npos)
        << message;
  }
  fixture_.synchronize();
}

TEST_F(LateRank, IsNotNamedAfterTheLastOperation) {
  enqueue_barriers(3);
  {
    StreamBlocker blocker(fixture_.handles[1]);
    EXPECT_NE(wait_until_timeout().find("all enqueued operations are done, but other work"),
              std::string::npos);
  }
  fixture_.synchronize();
}

TEST(LateRankAlone, IsNamed) {
  CommunicatorFixture fixture({0});
  UnguardedVectors in(fixture), out(fixture);
  {
    StreamBlocker blocker(fixture.handles[0]);
    ASSERT_TRUE(ok(all_reduce(out.views, inputs(in), {}, fixture.communicator, fixture.handles)));
    const Status status = fixture.communicator.wait(fixture.handles, kShortTimeout);
    EXPECT_TRUE(message_contains(status, "all_reduce was not done after 250 ms: rank 0 has not arrived"))
        << status.message();
  }
  fixture.synchronize();
}

// cudaEventQuery during a global capture would invalidate it without the relaxed mode.
TEST(OperationTracker, CanBeQueriedDuringAnotherCapture) {
  CommunicatorFixture fixture(place(kRanks, Placement::spread));
  const DeviceScope scope(0);
  const Stream recorded;
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(recorded, cudaStreamCaptureModeGlobal), cudaSuccess);
  for (size_t i = 0; i < 2 * OperationTracker::kTracked; ++i)
    ASSERT_TRUE(ok(barrier(fixture.communicator, fixture.handles)));
  ASSERT_EQ(cudaStreamEndCapture(recorded, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  fixture.synchronize();
}

}  // namespace
}  // namespace rondo::test
