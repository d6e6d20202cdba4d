// Simulates the enqueued work of the operations for up to 64 ranks in a model of streams and memory
// (stream_model.h): events order all conflicting accesses, every share is added once and in the documented
// order, and no rank sends more than its part. Nothing runs, so the result does not depend on timing.
#include <rondo/tests/collectives/model_run.h>

namespace rondo::test {
namespace {

TEST(EnqueuedOrder, ReduceScatter) {
  for_setups({1, 2, 3, 5, 8}, kMovers, [](CommunicatorFixture& fixture, Algorithm algorithm) {
    const std::vector<int> ring = ring_of(fixture);
    const auto ranks = static_cast<int>(ring.size());
    for (const int64_t block : {1, 50}) {
      StreamModel model(4);
      ModelRun first(fixture, model, DType::float32, block * ranks, block, false),
          second(fixture, model, DType::float32, block * ranks, block, true);
      for (int rank = 0; rank < ranks; ++rank)
        second.output[static_cast<size_t>(rank)] =
            second.input[static_cast<size_t>(rank)].part(rank * block, block);
      for (ModelRun* run : {&first, &second}) {
        const Interception interception(model);
        run->before();
        ASSERT_TRUE(ok(reduce_scatter(run->output, run->inputs(), {.algorithm = algorithm},
                                      fixture.communicator, run->handles)));
        run->after([&](int rank, int64_t i) {
          const int64_t element = rank * block + i;
          if (ranks == 1) return model.terms().share(0, element);
          return sum_along(
              model.terms(),
              algorithm == Algorithm::ring ? around(ring, position_of(ring, rank) + 1) : in_order(ranks),
              element);
        });
      }
    }
  });
}

TEST(EnqueuedOrder, AllGather) {
  for_setups({1, 2, 3, 5, 8}, kMovers, [](CommunicatorFixture& fixture, Algorithm algorithm) {
    const auto ranks = static_cast<int>(fixture.devices.size());
    for (const int64_t block : {1, 50}) {
      StreamModel model(4);
      ModelRun first(fixture, model, DType::float32, block, block * ranks, false),
          second(fixture, model, DType::float32, block, block * ranks, true);
      for (int rank = 0; rank < ranks; ++rank)
        second.input[static_cast<size_t>(rank)] =
            second.output[static_cast<size_t>(rank)].part(rank * block, block);
      for (ModelRun* run : {&first, &second}) {
        const Interception interception(model);
        run->before();
        ASSERT_TRUE(
            ok(all_gather(run->output, run->inputs(), algorithm, fixture.communicator, run->handles)));
        run->after(
            [&](int, int64_t i) { return model.terms().share(static_cast<int>(i / block), i % block); });
      }
    }
  });
}

TEST(EnqueuedOrder, BroadcastAndReduce) {
  for_setups({1, 2, 3, 5}, kMovers, [](CommunicatorFixture& fixture, Algorithm algorithm) {
    const std::vector<int> ring = ring_of(fixture);
    const auto ranks = static_cast<int>(ring.size());
    for (int root = 0; root < ranks; ++root) {
      const auto r = static_cast<size_t>(root);
      StreamModel model(4);
      const Interception interception(model);
      ModelRun given(fixture, model, DType::float32, 70, 70, false),
          taken(fixture, model, DType::float32, 70, 70, false);
      given.before();
      ASSERT_TRUE(
          ok(broadcast(given.output, given.input[r], root, algorithm, fixture.communicator, given.handles)));
      given.after([&](int, int64_t i) { return model.terms().share(root, i); });
      taken.before();
      ASSERT_TRUE(ok(reduce(taken.output[r], taken.inputs(), root, {.algorithm = algorithm},
                            fixture.communicator, taken.handles)));
      taken.after([&](int rank, int64_t i) {
        if (rank != root) return 0;
        if (ranks == 1) return model.terms().share(0, i);
        return sum_along(
            model.terms(),
            algorithm == Algorithm::ring ? around(ring, position_of(ring, root) + 1) : in_order(ranks), i);
      });
      // Broadcast once more after the reduce, with events that have been recorded before.
      given.before();
      ASSERT_TRUE(
          ok(broadcast(given.output, given.input[r], root, algorithm, fixture.communicator, given.handles)));
      given.after([&](int, int64_t i) { return model.terms().share(root, i); });
    }
  });
}

TEST(EnqueuedOrder, AllToAll) {
  for_setups({1, 2, 3, 8}, {Algorithm::direct}, [](CommunicatorFixture& fixture, Algorithm) {
    const auto ranks = static_cast<int64_t>(fixture.devices.size());
    constexpr int64_t kBlock = 9;
    StreamModel model(4);
    const Interception interception(model);
    ModelRun run(fixture, model, DType::float32, kBlock * ranks, kBlock * ranks, false);
    for (int repeat = 0; repeat < 2; ++repeat) {
      run.before();
      ASSERT_TRUE(ok(all_to_all(run.output, run.inputs(), fixture.communicator, run.handles)));
      run.after([&](int rank, int64_t i) {
        return model.terms().share(static_cast<int>(i / kBlock), rank * kBlock + i % kBlock);
      });
    }
  });
}

// The model detects missing events.
TEST(StreamModel, SeesAMissingEvent) {
  CommunicatorFixture fixture(place(2, Placement::together));
  StreamModel unused;
  ModelRun run(fixture, unused, DType::float32, 4, 4, false);
  const auto shares = [](StreamModel& model) { return shares_of(model.terms(), 0, 4); };
  Event event;
  for (const bool ordered : {true, false}) {
    StreamModel model;
    model.write(run.handles[0], run.input[0], shares(model));
    model.record(event, run.handles[0]);
    if (ordered) model.wait(run.handles[1], event);
    model.read(run.handles[1], run.input[0]);
    EXPECT_EQ(model.problems().empty(), ordered) << "a read after a write";
  }
  for (const bool ordered : {true, false}) {
    StreamModel model;
    model.read(run.handles[0], run.input[0]);
    if (ordered) model.record(event, run.handles[0]);
    model.write(run.handles[0], run.input[1], shares(model));
    if (!ordered) model.write(run.handles[1], run.input[0], shares(model));
    if (ordered) {
      model.wait(run.handles[1], event);
      model.write(run.handles[1], run.input[0], shares(model));
    }
    EXPECT_EQ(model.problems().empty(), ordered) << "a write after a read";
  }
}

}  // namespace
}  // namespace rondo::test
