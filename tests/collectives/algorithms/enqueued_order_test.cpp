// Simulates the enqueued work of the operations for up to 64 ranks in a model of streams and memory
// (stream_model.h): events order all conflicting accesses, every share is added once and in the documented
// order, and no rank sends more than its part. Nothing runs, so the result does not depend on timing.
#include <rondo/tests/collectives/play.h>

namespace rondo::test {
namespace {

TEST(EnqueuedOrder, ReduceScatter) {
  for_setups({1, 2, 3, 5, 8}, kMovers, [](World& world, Algorithm algorithm) {
    const std::vector<int> ring = ring_of(world);
    const auto ranks = static_cast<int>(ring.size());
    for (const int64_t block : {1, 50}) {
      StreamModel model(4);
      Play first(world, model, DType::float32, block * ranks, block, false),
          second(world, model, DType::float32, block * ranks, block, true);
      for (int rank = 0; rank < ranks; ++rank)
        second.output[static_cast<size_t>(rank)] =
            second.input[static_cast<size_t>(rank)].part(rank * block, block);
      for (Play* play : {&first, &second}) {
        const Interception interception(model);
        play->before();
        ASSERT_TRUE(ok(reduce_scatter(play->output, play->inputs(), {.algorithm = algorithm},
                                      world.communicator, play->handles)));
        play->after([&](int rank, int64_t i) {
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
  for_setups({1, 2, 3, 5, 8}, kMovers, [](World& world, Algorithm algorithm) {
    const auto ranks = static_cast<int>(world.devices.size());
    for (const int64_t block : {1, 50}) {
      StreamModel model(4);
      Play first(world, model, DType::float32, block, block * ranks, false),
          second(world, model, DType::float32, block, block * ranks, true);
      for (int rank = 0; rank < ranks; ++rank)
        second.input[static_cast<size_t>(rank)] =
            second.output[static_cast<size_t>(rank)].part(rank * block, block);
      for (Play* play : {&first, &second}) {
        const Interception interception(model);
        play->before();
        ASSERT_TRUE(
            ok(all_gather(play->output, play->inputs(), algorithm, world.communicator, play->handles)));
        play->after(
            [&](int, int64_t i) { return model.terms().share(static_cast<int>(i / block), i % block); });
      }
    }
  });
}

TEST(EnqueuedOrder, BroadcastAndReduce) {
  for_setups({1, 2, 3, 5}, kMovers, [](World& world, Algorithm algorithm) {
    const std::vector<int> ring = ring_of(world);
    const auto ranks = static_cast<int>(ring.size());
    for (int root = 0; root < ranks; ++root) {
      const auto r = static_cast<size_t>(root);
      StreamModel model(4);
      const Interception interception(model);
      Play given(world, model, DType::float32, 70, 70, false),
          taken(world, model, DType::float32, 70, 70, false);
      given.before();
      ASSERT_TRUE(
          ok(broadcast(given.output, given.input[r], root, algorithm, world.communicator, given.handles)));
      given.after([&](int, int64_t i) { return model.terms().share(root, i); });
      taken.before();
      ASSERT_TRUE(ok(reduce(taken.output[r], taken.inputs(), root, {.algorithm = algorithm},
                            world.communicator, taken.handles)));
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
          ok(broadcast(given.output, given.input[r], root, algorithm, world.communicator, given.handles)));
      given.after([&](int, int64_t i) { return model.terms().share(root, i); });
    }
  });
}

TEST(EnqueuedOrder, AllToAll) {
  for_setups({1, 2, 3, 8}, {Algorithm::direct}, [](World& world, Algorithm) {
    const auto ranks = static_cast<int64_t>(world.devices.size());
    constexpr int64_t kBlock = 9;
    StreamModel model(4);
    const Interception interception(model);
    Play play(world, model, DType::float32, kBlock * ranks, kBlock * ranks, false);
    for (int repeat = 0; repeat < 2; ++repeat) {
      play.before();
      ASSERT_TRUE(ok(all_to_all(play.output, play.inputs(), world.communicator, play.handles)));
      play.after([&](int rank, int64_t i) {
        return model.terms().share(static_cast<int>(i / kBlock), rank * kBlock + i % kBlock);
      });
    }
  });
}

// The model detects missing events.
TEST(StreamModel, SeesAMissingEvent) {
  World world(place(2, Placement::together));
  StreamModel unused;
  Play play(world, unused, DType::float32, 4, 4, false);
  const auto shares = [](StreamModel& model) { return shares_of(model.terms(), 0, 4); };
  Event event;
  for (const bool ordered : {true, false}) {
    StreamModel model;
    model.write(play.handles[0], play.input[0], shares(model));
    model.record(event, play.handles[0]);
    if (ordered) model.wait(play.handles[1], event);
    model.read(play.handles[1], play.input[0]);
    EXPECT_EQ(model.problems().empty(), ordered) << "a read after a write";
  }
  for (const bool ordered : {true, false}) {
    StreamModel model;
    model.read(play.handles[0], play.input[0]);
    if (ordered) model.record(event, play.handles[0]);
    model.write(play.handles[0], play.input[1], shares(model));
    if (!ordered) model.write(play.handles[1], play.input[0], shares(model));
    if (ordered) {
      model.wait(play.handles[1], event);
      model.write(play.handles[1], play.input[0], shares(model));
    }
    EXPECT_EQ(model.problems().empty(), ordered) << "a write after a read";
  }
}

}  // namespace
}  // namespace rondo::test
