// The steps of the ring as spans of a trace.
#include <rondo/kernels/runtime/trace.h>
#include <rondo/tests/collectives/communicator_fixture.h>

#include <map>

namespace rondo::test {
namespace {

std::vector<TraceSpan> spans_of(const std::vector<TraceSpan>& all, int rank, const std::string& category) {
  std::vector<TraceSpan> found;
  for (const TraceSpan& span : all)
    if (span.rank == rank && span.category == category) found.push_back(span);
  return found;
}

TEST(AllReduceTrace, ShowsEveryCopyAndEverySum) {
  constexpr int kRanks = 4;
  CommunicatorFixture fixture(
      place(kRanks, Placement::together));  // one device, so that all times are from one clock
  const auto inputs = exact_inputs(kRanks, 1000, 1);
  RankVectors data(fixture.devices, inputs);
  Trace trace(fixture.devices);
  fixture.communicator.set_trace(&trace);
  ASSERT_TRUE(ok(sum_by(Algorithm::ring, fixture, data)));
  fixture.communicator.set_trace(nullptr);
  ASSERT_TRUE(ok(sum_by(Algorithm::ring, fixture, data)));
  const std::vector<TraceSpan> spans = trace.collect();

  for (int rank = 0; rank < kRanks; ++rank) {
    const auto copies = spans_of(spans, rank, "copy"), sums = spans_of(spans, rank, "sum");
    ASSERT_EQ(copies.size(), 2u * (kRanks - 1));
    ASSERT_EQ(sums.size(), 1u * (kRanks - 1));
    const auto left_copies = spans_of(spans, (rank + kRanks - 1) % kRanks, "copy");
    for (size_t step = 0; step < copies.size(); ++step) {
      EXPECT_GE(copies[step].begin_us, 0);
      EXPECT_LE(copies[step].begin_us, copies[step].end_us);
      EXPECT_EQ(copies[step].stream, "copies");
      EXPECT_EQ(copies[step].name,
                concat("send chunk ", (rank + 2 * kRanks - static_cast<int>(step)) % kRanks, " to rank ",
                       (rank + 1) % kRanks, ", step ", step));
    }
    for (size_t step = 0; step < sums.size(); ++step) {
      EXPECT_LE(sums[step].begin_us, sums[step].end_us);
      EXPECT_LE(left_copies[step].end_us, sums[step].begin_us) << "rank " << rank << ", step " << step;
      EXPECT_LE(sums[step].end_us, copies[step + 1].begin_us) << "rank " << rank << ", step " << step;
      EXPECT_EQ(sums[step].name,
                concat("add chunk ", (rank + kRanks - 1 - static_cast<int>(step)) % kRanks, ", step ", step));
    }
  }
}

// Between which ranks an all-reduce moves data, and how often.
std::map<std::pair<int, int>, int> transfers_of(Algorithm algorithm, int ranks, int group = 0) {
  CommunicatorFixture fixture(place(ranks, Placement::together), {.bucket_bytes = 0, .group_size = group});
  RankVectors data(fixture.devices, exact_inputs(ranks, 1000, 1));
  Trace trace(fixture.devices);
  fixture.communicator.set_trace(&trace);
  EXPECT_TRUE(ok(sum_by(algorithm, fixture, data)));
  std::map<std::pair<int, int>, int> count;
  for (const TraceSpan& span : trace.collect()) {
    for (const TraceTransfer& transfer : span.transfers) {
      EXPECT_TRUE(transfer.from == span.rank || transfer.to == span.rank) << span.name;
      ++count[{transfer.from, transfer.to}];
    }
  }
  return count;
}

using Transfers = std::map<std::pair<int, int>, int>;

// In the ring 2 (n - 1) transfers to the next rank; in the direct algorithm a read and a write between all
// pairs of ranks; in groups of two a ring of two, and the same between the groups.
TEST(AllReduceTrace, ShowsTheRanksThatExchangeData) {
  EXPECT_EQ(transfers_of(Algorithm::ring, 3), (Transfers{{{0, 1}, 4}, {{1, 2}, 4}, {{2, 0}, 4}}));
  EXPECT_EQ(transfers_of(Algorithm::direct, 3),
            (Transfers{{{0, 1}, 2}, {{0, 2}, 2}, {{1, 0}, 2}, {{1, 2}, 2}, {{2, 0}, 2}, {{2, 1}, 2}}));
  EXPECT_EQ(transfers_of(Algorithm::root, 3),
            (Transfers{{{0, 1}, 1}, {{0, 2}, 1}, {{1, 0}, 1}, {{2, 0}, 1}}));
  EXPECT_EQ(transfers_of(Algorithm::hierarchical, 4, 2), (Transfers{{{0, 1}, 2},
                                                                    {{1, 0}, 2},
                                                                    {{2, 3}, 2},
                                                                    {{3, 2}, 2},
                                                                    {{0, 2}, 2},
                                                                    {{2, 0}, 2},
                                                                    {{1, 3}, 2},
                                                                    {{3, 1}, 2}}));
  EXPECT_EQ(transfers_of(Algorithm::ring, 1), Transfers());
}

// The number of copies of all ranks.
size_t copies_of(Algorithm algorithm, int ranks, int64_t slot_bytes, int64_t size) {
  CommunicatorFixture fixture(place(ranks, Placement::together), slot_bytes);
  const auto inputs = exact_inputs(ranks, size, 1);
  RankVectors data(fixture.devices, inputs);
  Trace trace(fixture.devices);
  fixture.communicator.set_trace(&trace);
  EXPECT_TRUE(ok(sum_by(algorithm, fixture, data)));
  const std::vector<TraceSpan> spans = trace.collect();
  EXPECT_TRUE(all_equal_bits(data.download(0), documented_sum(inputs, algorithm)));
  size_t copies = 0;
  for (int rank = 0; rank < ranks; ++rank) copies += spans_of(spans, rank, "copy").size();
  return copies;
}

// A chunk that fills slots to the last byte takes no further segment.
TEST(AllReduceTrace, SlotsAreFilled) {
  constexpr int kRanks = 3, kSteps = 2 * (kRanks - 1);
  constexpr int64_t kSlot = 256 / sizeof(float);
  const auto copies = [](int64_t size) { return copies_of(Algorithm::ring, kRanks, 256, size); };
  EXPECT_EQ(copies(kRanks * kSlot), 1u * kRanks * kSteps);
  EXPECT_EQ(copies(kRanks * kSlot + 1), 2u * kRanks * kSteps);
  EXPECT_EQ(copies(kRanks * 3 * kSlot), 3u * kRanks * kSteps);
}

// root cuts the same memory into a region for each rank, with 16 bytes to spare.
TEST(AllReduceTrace, RegionsAreFilled) {
  constexpr int kRanks = 2;
  constexpr int64_t kMemory = 4 * (256 + 128), kRegion = (kMemory / kRanks - 16) / sizeof(float);
  const auto copies = [](int64_t size) { return copies_of(Algorithm::root, kRanks, 256, size); };
  EXPECT_EQ(copies(kRegion), 1u + 1u) << "one to rank 0, and the sum back";
  EXPECT_EQ(copies(kRegion + 1), 2u + 1u);
  EXPECT_EQ(copies(2 * kRegion), 2u + 1u);
  // 64 ranks with the smallest slots have 64 bytes each.
  const auto copies_of_64 = [](int64_t size) { return copies_of(Algorithm::root, 64, 64, size); };
  EXPECT_EQ(copies_of_64(12), 63u + 63u);
  EXPECT_EQ(copies_of_64(13), 2 * 63u + 63u);
}

TEST(AllReduceTrace, KeepsTheErrorOfARankItDoesNotHave) {
  CommunicatorFixture fixture(place(3, Placement::spread));
  RankVectors data(fixture.devices, exact_inputs(3, 100, 1));
  Trace too_small({fixture.devices[0], fixture.devices[1]});
  fixture.communicator.set_trace(&too_small);
  ASSERT_TRUE(ok(sum_by(Algorithm::ring, fixture, data)));
  fixture.synchronize();
  try {
    static_cast<void>(too_small.collect());
    FAIL() << "a span of rank 2 in a trace of two ranks";
  } catch (const Error& error) {
    EXPECT_TRUE(refused(error.status(), "is of rank 2, the trace has 2 ranks"));
  }
}

TEST(AllReduceTrace, ShowsTheLatestReplayOfAGraph) {
  CommunicatorFixture fixture({0});
  constexpr int kRanks = 2;
  CommunicatorFixture ring(place(kRanks, Placement::together));
  ring.handles.assign(kRanks, fixture.handles[0]);
  RankVectors data(ring.devices, exact_inputs(kRanks, 64, 1));
  Trace trace(ring.devices);
  ring.communicator.set_trace(&trace);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(fixture.handles[0], cudaStreamCaptureModeThreadLocal), cudaSuccess);
  const Status status = sum_by(Algorithm::ring, ring, data);
  ASSERT_EQ(cudaStreamEndCapture(fixture.handles[0], &graph), cudaSuccess);
  ASSERT_TRUE(ok(status));
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  double last_end = 0;
  for (int replay = 0; replay < 3; ++replay) {
    ASSERT_EQ(cudaGraphLaunch(executable, fixture.handles[0]), cudaSuccess);
    fixture.synchronize();
    const std::vector<TraceSpan> spans = trace.collect();
    ASSERT_EQ(spans.size(), 6u);  // 2 copies and 1 sum per rank
    for (const TraceSpan& span : spans) {
      EXPECT_GE(span.begin_us, last_end);
      EXPECT_GE(span.end_us, span.begin_us);
    }
    for (const TraceSpan& span : spans) last_end = std::max(last_end, span.end_us);
  }
  ASSERT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
}

}  // namespace
}  // namespace rondo::test
