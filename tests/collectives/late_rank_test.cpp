// A rank does not arrive while many operations are in flight: wait() names the first unfinished operation and
// the rank.
#include <rondo/tests/collectives/hold.h>

#include <functional>
#include <optional>
#include <thread>

namespace rondo::test {
namespace {

using std::chrono::milliseconds;
constexpr int kRanks = 3;
constexpr milliseconds kTimeout{250};

class LateRank : public testing::Test {
 protected:
  void wait_for_all() { ASSERT_TRUE(ok(world_.communicator.wait(world_.handles, milliseconds(20'000)))); }
  void enqueue_barriers(int count) {
    for (int i = 0; i < count; ++i) ASSERT_TRUE(ok(barrier(world_.communicator, world_.handles)));
  }
  std::string wait_in_vain() {
    const Status status = world_.communicator.wait(world_.handles, kTimeout);
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
  World world_{place(kRanks, Placement::spread), CommunicatorOptions{.slot_bytes = 1024, .bucket_bytes = 16}};
  Vectors data_{world_}, results_{world_};
};

struct Operation {
  std::string name;
  std::function<Status(const Vectors& in, const Vectors& out, World&)> enqueue;
};
void PrintTo(const Operation& operation, std::ostream* out) { *out << operation.name; }

std::vector<ConstDataView> inputs(const Vectors& v) { return {v.views.begin(), v.views.end()}; }
std::vector<DataView> blocks(const Vectors& v) {
  std::vector<DataView> parts;
  for (const DataView& view : v.views) parts.push_back(view.part(0, view.size / kRanks));
  return parts;
}
Operation all_reduce_by(Algorithm algorithm) {
  return {"all_reduce", [=](const Vectors& in, const Vectors&, World& w) {
            return all_reduce(in.views, {.algorithm = algorithm}, w.communicator, w.handles);
          }};
}
std::vector<Operation> operations() {
  std::vector<Operation> all;
  for (const Algorithm algorithm :
       {Algorithm::ring, Algorithm::direct, Algorithm::root, Algorithm::hierarchical})
    all.push_back(all_reduce_by(algorithm));
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
    all.push_back({"all_reduce_coalesced", [=](const Vectors& in, const Vectors& out, World& w) {
                     std::vector<std::vector<DataView>> lists(kRanks);
                     for (size_t rank = 0; rank < kRanks; ++rank)
                       lists[rank] = {in.views[rank], out.views[rank].part(0, 3), out.views[rank].part(4, 8)};
                     return all_reduce_coalesced(lists, {.algorithm = algorithm}, w.communicator, w.handles);
                   }});
    all.push_back({"reduce_scatter", [=](const Vectors& in, const Vectors& out, World& w) {
                     return reduce_scatter(blocks(out), inputs(in), {.algorithm = algorithm}, w.communicator,
                                           w.handles);
                   }});
    all.push_back({"all_gather", [=](const Vectors& in, const Vectors& out, World& w) {
                     const std::vector<DataView> parts = blocks(in);
                     return all_gather(out.views, std::vector<ConstDataView>(parts.begin(), parts.end()),
                                       algorithm, w.communicator, w.handles);
                   }});
    all.push_back({"broadcast", [=](const Vectors& in, const Vectors& out, World& w) {
                     return broadcast(out.views, in.views[0], 0, algorithm, w.communicator, w.handles);
                   }});
    all.push_back({"reduce", [=](const Vectors& in, const Vectors& out, World& w) {
                     return reduce(out.views[0], inputs(in), 0, {.algorithm = algorithm}, w.communicator,
                                   w.handles);
                   }});
  }
  all.push_back({"all_to_all", [](const Vectors& in, const Vectors& out, World& w) {
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
    Hold hold(world_.handles[1]);
    ASSERT_TRUE(ok(GetParam().enqueue(data_, results_, world_)));
    enqueue_barriers(2);
    ASSERT_TRUE(ok(all_reduce_by(Algorithm::ring).enqueue(data_, results_, world_)));
    const std::string message = wait_in_vain();
    expect_missing(message, GetParam().name, 1);
    EXPECT_NE(message.find("; behind it wait 3 more"), std::string::npos) << message;
    EXPECT_EQ(message.find("received"), std::string::npos) << "of which operation? " << message;
  }
  world_.synchronize();
}

// The host runs ahead as far as a stream's queue allows. The first operation is still known.
TEST_F(LateRank, IsNamedWithMoreInFlightThanAreFollowed) {
  constexpr int kBarriers = 100;
  static_assert(kBarriers > OperationTracker::kFollowed);
  {
    Hold hold(world_.handles[2]);
    enqueue_barriers(kBarriers);
    const std::string message = wait_in_vain();
    expect_missing(message, "barrier", 2);
    EXPECT_NE(message.find("; behind it wait 99 more"), std::string::npos) << message;
  }
  world_.synchronize();
}

// A thread that enqueues without end blocks in the middle of an operation when a queue is full. wait() in
// another thread still returns in time, and the first thread's next call fails because the communicator was
// aborted.
TEST_F(LateRank, IsReportedWhileAnotherThreadIsBlocked) {
  Status last;
  std::thread enqueues;
  {
    Hold hold(world_.handles[2]);
    enqueues = std::thread([&] {
      for (int i = 0; i < 10'000 && last.ok(); ++i) last = barrier(world_.communicator, world_.handles);
    });
    std::this_thread::sleep_for(milliseconds(200));
    const auto begin = std::chrono::steady_clock::now();
    const std::string message = wait_in_vain();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(3000));
    EXPECT_TRUE(message.find("a thread is in the middle of enqueuing") != std::string::npos ||
                message.find("rank 2 has not arrived") != std::string::npos)
        << message;
  }
  enqueues.join();
  EXPECT_EQ(last.code(), StatusCode::timed_out) << last.message();
  world_.synchronize();
}

// The sets of events have been reused many times, some of them while others were in use.
TEST_F(LateRank, IsNamedAfterThousandsAreDone) {
  for (int round = 0; round < 40; ++round) {
    enqueue_barriers(round * 4);
    if (round % 5 == 0) wait_for_all();
  }
  wait_for_all();
  {
    Hold hold(world_.handles[0]);
    ASSERT_TRUE(ok(all_reduce_by(Algorithm::root).enqueue(data_, results_, world_)));
    enqueue_barriers(static_cast<int>(OperationTracker::kFollowed) - 1);
    expect_missing(wait_in_vain(), "all_reduce", 0);
  }
  world_.synchronize();
}

// Some operations in flight finish before the one that is stuck.
TEST_F(LateRank, IsNamedInTheMiddle) {
  {
    std::optional<Hold> all(std::in_place, world_.handles[0]);
    enqueue_barriers(30);
    const Event before;
    ASSERT_EQ(cudaEventRecord(before, world_.handles[0]), cudaSuccess);
    Hold hold(world_.handles[2]);
    ASSERT_TRUE(ok(all_reduce_by(Algorithm::direct).enqueue(data_, results_, world_)));
    enqueue_barriers(100);
    all.reset();
    ASSERT_EQ(cudaEventSynchronize(before), cudaSuccess);
    expect_missing(wait_in_vain(), "all_reduce", 2);
  }
  world_.synchronize();
}

// Operations without their own events are reported as unknown.
TEST_F(LateRank, IsNotKnownBeyondWhatIsFollowed) {
  {
    std::optional<Hold> all(std::in_place, world_.handles[0]);
    enqueue_barriers(static_cast<int>(OperationTracker::kFollowed) + 10);
    const Event before;
    ASSERT_EQ(cudaEventRecord(before, world_.handles[0]), cudaSuccess);
    Hold hold(world_.handles[2]);
    enqueue_barriers(10);
    all.reset();
    ASSERT_EQ(cudaEventSynchronize(before), cudaSuccess);
    const std::string message = wait_in_vain();
    EXPECT_NE(
        message.find("barrier was not done after 250 ms: no rank has arrived, and of what is before it"),
        std::string::npos)
        << message;
  }
  world_.synchronize();
}

TEST_F(LateRank, IsTheCallersOwnAffairAfterTheLastOperation) {
  enqueue_barriers(3);
  {
    Hold hold(world_.handles[1]);
    EXPECT_NE(wait_in_vain().find("all operations that were enqueued are, but something else"),
              std::string::npos);
  }
  world_.synchronize();
}

TEST(LateRankAlone, IsNamed) {
  World world({0});
  Vectors in(world), out(world);
  {
    Hold hold(world.handles[0]);
    ASSERT_TRUE(ok(all_reduce(out.views, inputs(in), {}, world.communicator, world.handles)));
    const Status status = world.communicator.wait(world.handles, kTimeout);
    EXPECT_TRUE(says(status, "all_reduce was not done after 250 ms: rank 0 has not arrived"))
        << status.message();
  }
  world.synchronize();
}

// cudaEventQuery during a global capture would invalidate it without the relaxed mode.
TEST(OperationTracker, AreLookedAtWhileSomethingElseIsRecorded) {
  World world(place(kRanks, Placement::spread));
  const DeviceScope scope(0);
  const Stream recorded;
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(recorded, cudaStreamCaptureModeGlobal), cudaSuccess);
  for (size_t i = 0; i < 2 * OperationTracker::kFollowed; ++i)
    ASSERT_TRUE(ok(barrier(world.communicator, world.handles)));
  ASSERT_EQ(cudaStreamEndCapture(recorded, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  world.synchronize();
}

}  // namespace
}  // namespace rondo::test
