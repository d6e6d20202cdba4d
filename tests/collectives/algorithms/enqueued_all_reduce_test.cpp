// The enqueued work of all_reduce() and all_reduce_coalesced(); enqueued_order_test.cpp has the other
// operations.
#include <rondo/tests/collectives/model_run.h>

namespace rondo::test {
namespace {

// Runs twice with one communicator, each time on other streams: the scratch memory and the events are reused.
void expect_all_reduce(CommunicatorFixture& fixture, Algorithm algorithm, DType dtype, int64_t size) {
  StreamModel model(size_of(dtype));
  const std::vector<int> ring = ring_of(fixture);
  const auto ranks = static_cast<int64_t>(ring.size());
  int64_t chunk = (size + ranks - 1) / ranks;
  while (chunk * size_of(dtype) % 16 != 0) ++chunk;
  ModelRun first(fixture, model, dtype, size, size, false), second(fixture, model, dtype, size, size, true);
  for (ModelRun* run : {&first, &second}) {
    const Interception interception(model);
    run->before();
    ASSERT_TRUE(ok(all_reduce(run->output, run->inputs(), {.algorithm = algorithm}, fixture.communicator,
                              run->handles)));
    run->after([&](int, int64_t i) {
      return ranks == 1 ? model.terms().share(0, i)
                        : sum_along(model.terms(),
                                    algorithm == Algorithm::ring ? around(ring, i / chunk)
                                                                 : in_order(static_cast<int>(ranks)),
                                    i);
    });
  }
  EXPECT_TRUE(ranks == 1 || size == 0 || model.sums() > 0) << "nothing was intercepted";
}

TEST(EnqueuedOrder, AllReduce) {
  for_setups({1, 2, 3, 4, 5, 6, 7, 8}, kReducers, [](CommunicatorFixture& fixture, Algorithm algorithm) {
    for (const int64_t size : {1, 5, 33, 200}) expect_all_reduce(fixture, algorithm, DType::float32, size);
    expect_all_reduce(fixture, algorithm, DType::bfloat16, 131);
    expect_all_reduce(fixture, algorithm, DType::uint8, 300);
  });
}

class EnqueuedOrderOfManyRanks : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(From, EnqueuedOrderOfManyRanks, testing::Values(9, 25, 41, 57));

TEST_P(EnqueuedOrderOfManyRanks, AllReduceByRing) {
  for (int ranks = GetParam(); ranks < GetParam() + 16 && ranks <= kMaxRanks; ++ranks) {
    SCOPED_TRACE(concat(ranks, " ranks"));
    CommunicatorFixture fixture(place(ranks, Placement::spread), 64);
    expect_all_reduce(fixture, Algorithm::ring, DType::float32, ranks == 24 ? 1000 : ranks + 1);
    if (HasFailure()) return;
  }
}

// The expected order: a ring in each group of m ranks, then the groups' sums from the first to the last.
void expect_hierarchical(int ranks, int m, int64_t slot_bytes, DType dtype, Reduction reduction,
                         int64_t size) {
  SCOPED_TRACE(concat(ranks, " ranks in groups of ", m, ", ", size, " ", name_of(dtype)));
  CommunicatorOptions options{.slot_bytes = slot_bytes, .bucket_bytes = 0};
  options.group_size = m;
  options.ring_order = shuffled_ring(ranks);
  CommunicatorFixture fixture(place(ranks, Placement::spread), options);
  std::vector<std::vector<int>> groups(static_cast<size_t>(ranks / m));  // in ring order
  for (const int rank : options.ring_order) groups[static_cast<size_t>(rank / m)].push_back(rank);
  const int64_t unit = 16 / size_of(dtype), chunk = ((size + m - 1) / m + unit - 1) / unit * unit;
  StreamModel model(size_of(dtype));
  Terms& terms = model.terms();
  const auto want = [&](int, int64_t i) {
    Term sum = 0;
    for (const std::vector<int>& group : groups) {
      const std::vector<int> order = around(group, i / chunk);
      Term partial = terms.share(order[0], i);
      for (size_t k = 1; k < order.size(); ++k) partial = terms.sum(partial, terms.share(order[k], i));
      sum = sum == 0 ? partial : terms.sum(sum, partial);
    }
    // Partial sums that are wider than the data are added in their own type and finished afterwards. Those of
    // groups of one are inputs.
    const bool wide = m > 1 && accumulator_of(dtype, reduction) != dtype;
    return terms.finished(wide ? terms.finished(sum) : sum);
  };
  ModelRun first(fixture, model, dtype, size, size, false), second(fixture, model, dtype, size, size, true);
  for (ModelRun* run : {&first, &second}) {
    const Interception interception(model);
    run->before();
    ASSERT_TRUE(ok(all_reduce(run->output, run->inputs(),
                              {.reduction = reduction, .algorithm = Algorithm::hierarchical},
                              fixture.communicator, run->handles)));
    run->after(want);
  }
}

TEST(EnqueuedOrder, HierarchicalAllReduce) {
  for (const Reach reach : {Reach::all, Reach::none}) {
    const PeerLinks links(reach);
    for (const auto& [ranks, m] : {std::pair{4, 2}, {6, 3}, {6, 2}, {8, 4}, {5, 1}, {4, 4}, {12, 3}})
      for (const int64_t size : {1, 33, 1000}) {
        expect_hierarchical(ranks, m, 384, DType::float32, Reduction::sum, size);
        if (HasFailure()) return;
      }
    // The last chunk is empty and each other chunk takes three rounds, so a rank with nothing to forward is
    // ahead.
    expect_hierarchical(16, 8, 192, DType::uint8, Reduction::average, 7 * 5 * 16);
  }
}

// Slices of more than two groups, each rounded up to an alignment unit, fit the slot to which they are
// copied.
TEST(EnqueuedOrder, SlicesOfManyGroupsFitTheirSlot) {
  const PeerLinks links(Reach::none);
  constexpr auto kFloat = DType::float32, kBytes = DType::uint8, kBfloat = DType::bfloat16;
  // The smallest slots.
  for (const auto& [ranks, m] : {std::pair{3, 1}, {8, 1}, {10, 2}})
    for (const DType dtype : {kFloat, kBytes, kBfloat})
      expect_hierarchical(ranks, m, 64 * (ranks / m + 1), dtype, Reduction::average, 70 * m);
  // Chunks of two segments, where 13 slices are much longer than a segment. With no or too little space
  // reserved for them, the slices of the second segment would overrun its slot and overwrite the partial sums
  // of the first.
  expect_hierarchical(13, 1, 896, kFloat, Reduction::sum, 2 * 216);
  expect_hierarchical(13, 1, 896, kBfloat, Reduction::sum, 2 * 344);
  expect_hierarchical(13, 1, 896, kBytes, Reduction::average, 2 * 688);
  expect_hierarchical(26, 2, 1104, kBfloat, Reduction::sum, 2 * 2 * 224);
  expect_hierarchical(26, 2, 1440, kBytes, Reduction::average, 2 * 2 * 256);
}

// staged_copy.cpp cuts the scratch memory into one region per rank. Four of the smallest slots are enough for
// 12 ranks.
TEST(EnqueuedOrder, ScratchOfManyRanksWithTheSmallestSlots) {
  const PeerLinks links(Reach::none);
  for (const int ranks : {13, 25, 64}) {
    SCOPED_TRACE(concat(ranks, " ranks"));
    CommunicatorFixture fixture(place(ranks, Placement::spread),
                                CommunicatorOptions{.slot_bytes = 64, .bucket_bytes = 256});
    RankResources& resources = fixture.communicator.resources();
    // A region needs two alignment units, one for the lead. With less, a round would copy nothing and the
    // loop would not end.
    const int64_t scratch = resources.bucket(0) - resources.inbox(0, 0);
    ASSERT_GE(scratch, ranks * 2 * ring::kChunkAlignment);
    ASSERT_EQ(resources.of(0).scratch.bytes(), scratch + 256);
    expect_all_reduce(fixture, Algorithm::root, DType::float32, 31);
    if (ranks < 64) expect_all_reduce(fixture, Algorithm::direct, DType::float32, 17 * ranks);
    if (HasFailure()) return;
  }
}

// The position of element i of the vectors below in the vector that is reduced, and that vector's size. The
// bucket holds 64 elements: two vectors fit together, two fill it alone or are larger, and two more fit, the
// first of them padded.
struct PlaceInBucket {
  int64_t element, size;
};
PlaceInBucket place_in_bucket(int64_t i) {
  if (i < 40) return {i, 40};
  if (i < 81) return {i - 40, 41};
  if (i < 161) return {i - 81, 80};
  return {i < 164 ? i - 161 : i - 160, 40};
}

TEST(EnqueuedOrder, AllReduceCoalesced) {
  for_setups({1, 2, 3, 5}, kReducers, [](CommunicatorFixture& fixture, Algorithm algorithm) {
    const std::vector<int> ring = ring_of(fixture);
    const auto ranks = static_cast<int64_t>(ring.size());
    StreamModel model(4);
    const Interception interception(model);
    ModelRun run(fixture, model, DType::float32, 200, 200, true);
    std::vector<std::vector<DataView>> lists(ring.size());
    for (size_t rank = 0; rank < lists.size(); ++rank)
      for (const auto& [begin, size] : {std::pair{0, 20}, {20, 20}, {40, 41}, {81, 80}, {161, 3}, {164, 36}})
        lists[rank].push_back(run.input[rank].part(begin, size));
    for (int repeat = 0; repeat < 2; ++repeat) {
      run.before();
      ASSERT_TRUE(
          ok(all_reduce_coalesced(lists, {.algorithm = algorithm}, fixture.communicator, run.handles)));
      run.after([&](int, int64_t i) {
        const PlaceInBucket in_bucket = place_in_bucket(i);
        const int64_t chunk = ((in_bucket.size + ranks - 1) / ranks + 3) / 4 * 4;
        const bool by_ring = algorithm == Algorithm::ring;
        const std::vector<int> order =
            by_ring ? around(ring, in_bucket.element / chunk) : in_order(static_cast<int>(ranks));
        // A single rank packs and unpacks but adds nothing.
        return ranks == 1 ? model.terms().share(0, i) : sum_along(model.terms(), order, i);
      });
    }
  });
}

// 2 (n-1)/n * S bytes of the vector, up to one alignment unit per step, counted from the enqueued copies.
TEST(EnqueuedOrder, EveryRankSendsItsPart) {
  for (const int ranks : {2, 3, 4, 5, 8, 13, 16, 32})
    for (const int64_t size : {1, ranks, 100, 1000}) {
      SCOPED_TRACE(concat(ranks, " ranks, ", size, " elements"));
      CommunicatorFixture fixture(place(ranks, Placement::spread), 1024);
      StreamModel model(4);
      const Interception interception(model);
      ModelRun run(fixture, model, DType::float32, size, size, true);
      ASSERT_TRUE(
          ok(all_reduce(run.output, {.algorithm = Algorithm::ring}, fixture.communicator, run.handles)));
      int64_t all = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const int64_t bytes = model.bytes_copied_on(fixture.communicator.resources().of(rank).copies);
        const double ideal = 2.0 * (ranks - 1) / ranks * static_cast<double>(size * 4);
        EXPECT_LE(std::abs(static_cast<double>(bytes) - ideal), 2 * (ranks - 1) * 16) << "rank " << rank;
        all += bytes;
      }
      EXPECT_EQ(all, 2 * (ranks - 1) * size * 4);
    }
}

}  // namespace
}  // namespace rondo::test
