// Stress tests: all operations mixed, in random orders, in one graph, and from several threads.
#include <rondo/tests/collectives/fork_join.h>
#include <rondo/tests/collectives/mixed_work.h>

#include <thread>

namespace rondo::test {
namespace {

// The thread sanitizer runs every CUDA thread as a host thread and detects races in any order, so fewer runs
// suffice.
#ifdef __SANITIZE_THREAD__
constexpr int kOperations = 500, kSeeds = 10, kReplays = 30;
#else
constexpr int kOperations = 10'000, kSeeds = 100, kReplays = 1000;
#endif

TEST(Stress, TenThousandSmallOnesInFlight) {
  constexpr int kRanks = 2;
  constexpr int64_t kPart = 3;
  CommunicatorFixture fixture(place(kRanks, Placement::spread));
  const auto data = exact_data<float>(Reduction::sum, kRanks, kOperations * kPart, 1);
  RankVectors vectors(fixture.devices, data.inputs);
  for (int i = 0; i < kOperations; ++i) {
    const std::vector<DataView> parts = {vectors.view(0).part(i * kPart, kPart),
                                         vectors.view(1).part(i * kPart, kPart)};
    ASSERT_TRUE(
        ok(all_reduce(parts, {.algorithm = kAlgorithms[static_cast<size_t>(i) % std::size(kAlgorithms)]},
                      fixture.communicator, fixture.handles)));
  }
  fixture.synchronize();
  for (size_t rank = 0; rank < kRanks; ++rank) EXPECT_TRUE(all_equal_bits(vectors.download(rank), data.want));
}

// Only the communicator and the ranks' streams order the operations.
TEST(Stress, AHundredOrdersOfEverything) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const int ranks = static_cast<int>(2 + seed % 4);
    CommunicatorFixture fixture(place(ranks, seed % 3 == 0   ? Placement::spread
                                             : seed % 3 == 1 ? Placement::pairs
                                                             : Placement::together),
                                mixed_options(ranks));
    MixedWork first(fixture), second(fixture, 11);
    first.upload(seed);
    second.upload(seed + 1000);
    std::vector<Stream> other_streams;
    std::vector<cudaStream_t> others;
    for (const int device : fixture.devices) {
      DeviceScope scope(device);
      others.push_back(other_streams.emplace_back());
    }
    RandomOrder order(seed);
    ASSERT_TRUE(ok(first.enqueue(fixture.handles)));
    ASSERT_TRUE(ok(second.enqueue(others)));  // on streams that are not ordered with the first ones
    fixture.synchronize();
    for (const Stream& stream : other_streams) stream.synchronize();
    ASSERT_TRUE(first.right()) << "seed " << seed;
    ASSERT_TRUE(second.right()) << "seed " << seed;
  }
}

TEST(Stress, AThousandReplaysOfEverything) {
  constexpr int kRanks = 4;
  CommunicatorFixture fixture(place(kRanks, Placement::spread), mixed_options(kRanks));
  MixedWork work(fixture);
  StreamForkJoin fork_join(fixture);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(fixture.handles[0], cudaStreamCaptureModeThreadLocal), cudaSuccess);
  fork_join.fork();
  const Status status = work.enqueue(fixture.handles);
  fork_join.join();
  ASSERT_EQ(cudaStreamEndCapture(fixture.handles[0], &graph), cudaSuccess);
  ASSERT_TRUE(ok(status));
  SUCCEEDS_OR_SKIP_WITHOUT_PEER_ACCESS(cudaGraphInstantiate(&executable, graph, 0), fixture.communicator);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  for (uint64_t replay = 0; replay < kReplays; ++replay) {
    RandomOrder order(replay);
    work.upload(replay);
    fixture.poison_scratch();
    SUCCEEDS_OR_SKIP_WITHOUT_PEER_ACCESS(cudaGraphLaunch(executable, fixture.handles[0]),
                                         fixture.communicator);
    ASSERT_EQ(cudaStreamSynchronize(fixture.handles[0]), cudaSuccess);
    ASSERT_TRUE(work.right()) << "replay " << replay;
  }
  ASSERT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
}

constexpr int kThreads = 4, kRounds = 25;

// Runs work(thread) on kThreads threads at the same time.
template <class Work>
void on_threads(Work work) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) threads.emplace_back([&work, thread] { work(thread); });
  for (std::thread& thread : threads) thread.join();
}

TEST(Stress, FourCommunicatorsFromFourThreads) {
  on_threads([](int thread) {
    CommunicatorFixture fixture(place(4, thread % 2 ? Placement::pairs : Placement::spread),
                                mixed_options(4));
    MixedWork work(fixture, 30 + thread);
    for (int round = 0; round < kRounds; ++round) {
      work.upload(static_cast<uint64_t>(thread * 100 + round));
      ASSERT_TRUE(ok(work.enqueue(fixture.handles)));
      fixture.synchronize();
      ASSERT_TRUE(work.right()) << "thread " << thread << ", round " << round;
    }
  });
}

// Every thread has its own streams and vectors; all share the scratch memory.
TEST(Stress, OneCommunicatorFromFourThreads) {
  CommunicatorFixture fixture(place(4, Placement::spread), mixed_options(4));
  on_threads([&fixture](int thread) {
    std::vector<Stream> streams;
    std::vector<cudaStream_t> handles;
    for (const int device : fixture.devices) {
      DeviceScope scope(device);
      handles.push_back(streams.emplace_back());
    }
    MixedWork work(fixture, 30 + thread);
    for (int round = 0; round < kRounds; ++round) {
      work.upload(static_cast<uint64_t>(thread * 100 + round));
      ASSERT_TRUE(ok(work.enqueue(handles)));
      for (const Stream& stream : streams) stream.synchronize();
      ASSERT_TRUE(work.right()) << "thread " << thread << ", round " << round;
    }
  });
}

}  // namespace
}  // namespace rondo::test
