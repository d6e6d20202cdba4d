// What the operations put on streams, played in a model of streams and memory (stream_model.h) for up to 64 ranks:
// whatever touches the same byte is put in order by an event, every share is added once and in the documented order,
// and no rank sends more than its part. Nothing runs, so nothing depends on luck.
#include <rondo/tests/collectives/stream_model.h>
#include <rondo/tests/collectives/worlds.h>

#include <simt/faults.h>

namespace rondo::test {
namespace {

std::vector<Term> shares_of(Terms& terms, int rank, int64_t size) {
  std::vector<Term> shares;
  for (int64_t i = 0; i < size; ++i) shares.push_back(terms.share(rank, i));
  return shares;
}

// Shares of element `element` added along `ranks`.
Term sum_along(Terms& terms, const std::vector<int>& ranks, int64_t element) {
  Term sum = terms.share(ranks[0], element);
  for (size_t k = 1; k < ranks.size(); ++k) sum = terms.sum(sum, terms.share(ranks[k], element));
  return terms.finished(sum);
}

std::vector<int> in_order(int ranks) {
  std::vector<int> order(static_cast<size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// One operation among the caller's own work: before it every stream fills its rank's input and spoils its output;
// after it every stream looks at the output and spoils both. Streams are the operation's own.
class Play {
 public:
  Play(World& world, StreamModel& model, DType dtype, int64_t inputs, int64_t outputs, bool in_place)
      : model_(model) {
    for (size_t rank = 0; rank < world.devices.size(); ++rank) {
      DeviceScope scope(world.devices[rank]);
      streams_.emplace_back();
      handles.push_back(streams_.back());
      const int64_t bytes = (std::max(inputs, outputs) + 4) * size_of(dtype);
      memory_.emplace_back(2 * bytes);
      input.push_back({memory_.back().data() + size_of(dtype), inputs, dtype});
      output.push_back({memory_.back().data() + (in_place ? size_of(dtype) : bytes), outputs, dtype});
    }
  }
  void before() {
    for (size_t rank = 0; rank < input.size(); ++rank) {
      spoil(rank, output[rank]);
      model_.write(handles[rank], input[rank],
                   shares_of(model_.terms(), static_cast<int>(rank), input[rank].size));
    }
  }
  // want(rank, element)
  template <class Want>
  void after(Want want) {
    for (size_t rank = 0; rank < input.size(); ++rank) {
      const std::vector<Term> found = model_.read(handles[rank], output[rank]);
      for (size_t i = 0; i < found.size(); ++i)
        ASSERT_EQ(found[i], want(static_cast<int>(rank), static_cast<int64_t>(i)))
            << "element " << i << " of rank " << rank;
      spoil(rank, output[rank]);
      spoil(rank, input[rank]);
    }
    for (const std::string& problem : model_.problems()) ADD_FAILURE() << problem;
  }
  std::vector<ConstDataView> inputs() const { return {input.begin(), input.end()}; }

  std::vector<cudaStream_t> handles;
  std::vector<DataView> input, output;

 private:
  void spoil(size_t rank, DataView vector) {
    model_.write(handles[rank], vector, std::vector<Term>(static_cast<size_t>(vector.size), 0));
  }

  StreamModel& model_;
  std::vector<Stream> streams_;
  std::vector<Buffer<std::byte>> memory_;
};

// Whether kernels reach the memory of other devices; the direct algorithms differ.
enum class Reach { all, none };

class PeerLinks {
 public:
  explicit PeerLinks(Reach reach) : reach_(reach) { set(reach == Reach::none, simt::PeerAccess::absent); }
  ~PeerLinks() { set(reach_ == Reach::none, simt::PeerAccess::works); }

 private:
  static void set(bool any, simt::PeerAccess access) {
    for (int a = 0; any && a < device_count(); ++a)
      for (int b = 0; b < device_count(); ++b)
        if (a != b) static_cast<void>(simt::set_peer_access(a, b, access));
  }
  Reach reach_;
};

// test(world, algorithm) by ring, and directly with and without access to peers.
template <class Test>
void for_setups(std::initializer_list<int> ranks, std::initializer_list<Algorithm> algorithms, Test test) {
  for (const Reach reach : {Reach::all, Reach::none}) {
    const PeerLinks links(reach);
    for (const Algorithm algorithm : algorithms)
      for (const int n : ranks)
        for (const int64_t slot_bytes : {64, 256}) {
          if (algorithm == Algorithm::ring && reach == Reach::none) continue;
          SCOPED_TRACE(concat(algorithm, ", ", n, " ranks, slots of ", slot_bytes,
                              reach == Reach::none ? ", no access to peers" : ""));
          CommunicatorOptions options{.slot_bytes = slot_bytes, .bucket_bytes = 256};
          if (slot_bytes > 64) options.ring_order = shuffled_ring(n);
          World world(place(n, Placement::spread), options);
          ASSERT_EQ(world.communicator.all_reach_all(), n == 1 || reach == Reach::all);
          test(world, algorithm);
          if (testing::Test::HasFailure()) return;
        }
  }
}

std::vector<int> ring_of(const World& world) { return world.communicator.options().ring_order; }
std::vector<int> around(const std::vector<int>& ring, int64_t position) {
  std::vector<int> ranks;
  for (size_t k = 0; k < ring.size(); ++k)
    ranks.push_back(ring[(static_cast<size_t>(position) + k) % ring.size()]);
  return ranks;
}
int64_t position_of(const std::vector<int>& ring, int rank) {
  return std::find(ring.begin(), ring.end(), rank) - ring.begin();
}

constexpr auto kReducers = {Algorithm::ring, Algorithm::direct, Algorithm::root};
constexpr auto kMovers = {Algorithm::ring, Algorithm::direct};

// Twice with one communicator, on other streams each time: the scratch memory and the events are used again.
void expect_all_reduce(World& world, Algorithm algorithm, DType dtype, int64_t size) {
  StreamModel model(size_of(dtype));
  const std::vector<int> ring = ring_of(world);
  const auto ranks = static_cast<int64_t>(ring.size());
  int64_t chunk = (size + ranks - 1) / ranks;
  while (chunk * size_of(dtype) % 16 != 0) ++chunk;
  Play first(world, model, dtype, size, size, false), second(world, model, dtype, size, size, true);
  for (Play* play : {&first, &second}) {
    const Interception interception(model);
    play->before();
    ASSERT_TRUE(ok(all_reduce(play->output, play->inputs(), {.algorithm = algorithm}, world.communicator,
                              play->handles)));
    play->after([&](int, int64_t i) {
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
  for_setups({1, 2, 3, 4, 5, 6, 7, 8}, kReducers, [](World& world, Algorithm algorithm) {
    for (const int64_t size : {1, 5, 33, 200}) expect_all_reduce(world, algorithm, DType::float32, size);
    expect_all_reduce(world, algorithm, DType::bfloat16, 131);
    expect_all_reduce(world, algorithm, DType::uint8, 300);
  });
}

class EnqueuedOrderOfManyRanks : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(From, EnqueuedOrderOfManyRanks, testing::Values(9, 25, 41, 57));

TEST_P(EnqueuedOrderOfManyRanks, AllReduceByRing) {
  for (int ranks = GetParam(); ranks < GetParam() + 16 && ranks <= kMaxRanks; ++ranks) {
    SCOPED_TRACE(concat(ranks, " ranks"));
    World world(place(ranks, Placement::spread), 64);
    expect_all_reduce(world, Algorithm::ring, DType::float32, ranks == 24 ? 1000 : ranks + 1);
    if (HasFailure()) return;
  }
}

// Rings in groups of m, then the groups' sums from the first to the last.
void expect_hierarchical(int ranks, int m, int64_t slot_bytes, DType dtype, Reduction reduction,
                         int64_t size) {
  SCOPED_TRACE(concat(ranks, " ranks in groups of ", m, ", ", size, " ", name_of(dtype)));
  CommunicatorOptions options{.slot_bytes = slot_bytes, .bucket_bytes = 0};
  options.group_size = m;
  options.ring_order = shuffled_ring(ranks);
  World world(place(ranks, Placement::spread), options);
  std::vector<std::vector<int>> groups(static_cast<size_t>(ranks / m));  // in the order of their rings
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
    // Wide partial sums are added as numbers of their own type, and finished afterwards.
    return terms.finished(accumulator_of(dtype, reduction) == dtype ? sum : terms.finished(sum));
  };
  Play first(world, model, dtype, size, size, false), second(world, model, dtype, size, size, true);
  for (Play* play : {&first, &second}) {
    const Interception interception(model);
    play->before();
    ASSERT_TRUE(ok(all_reduce(play->output, play->inputs(),
                              {.reduction = reduction, .algorithm = Algorithm::hierarchical},
                              world.communicator, play->handles)));
    play->after(want);
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
    // The last chunk is empty, and each of the others takes three rounds: who has nothing to pass on is a round ahead.
    expect_hierarchical(16, 8, 192, DType::uint8, Reduction::average, 7 * 5 * 16);
  }
}

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
      // And once more, the other way round, with the events that are recorded by now.
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

// Element i of the vectors below: where it lies in what is reduced as one, and how large that is. The bucket takes 64
// elements: two vectors, two that are alone with the bucket or larger than it, and two, of which the first is padded.
struct PlaceInBucket {
  int64_t element, size;
};
PlaceInBucket place_in_bucket(int64_t i) {
  if (i < 40) return {i, 40};
  if (i < 81) return {i - 40, 41};
  if (i < 161) return {i - 81, 80};
  return {i < 164 ? i - 161 : i - 160, 40};
}

TEST(EnqueuedOrder, AllReduceMany) {
  for_setups({1, 2, 3, 5}, kReducers, [](World& world, Algorithm algorithm) {
    const std::vector<int> ring = ring_of(world);
    const auto ranks = static_cast<int64_t>(ring.size());
    StreamModel model(4);
    const Interception interception(model);
    Play play(world, model, DType::float32, 200, 200, true);
    std::vector<std::vector<DataView>> lists(ring.size());
    for (size_t rank = 0; rank < lists.size(); ++rank)
      for (const auto& [begin, size] : {std::pair{0, 20}, {20, 20}, {40, 41}, {81, 80}, {161, 3}, {164, 36}})
        lists[rank].push_back(play.input[rank].part(begin, size));
    for (int repeat = 0; repeat < 2; ++repeat) {
      play.before();
      ASSERT_TRUE(ok(all_reduce_many(lists, {.algorithm = algorithm}, world.communicator, play.handles)));
      play.after([&](int, int64_t i) {
        const PlaceInBucket in_bucket = place_in_bucket(i);
        const int64_t chunk = ((in_bucket.size + ranks - 1) / ranks + 3) / 4 * 4;
        const bool by_ring = algorithm == Algorithm::ring;
        const std::vector<int> order =
            by_ring ? around(ring, in_bucket.element / chunk) : in_order(static_cast<int>(ranks));
        // A single rank packs and unpacks, and has nothing to add.
        return ranks == 1 ? model.terms().share(0, i) : sum_along(model.terms(), order, i);
      });
    }
  });
}

// 2 (n-1)/n * S bytes of the vector, up to one alignment unit a step: by the copies that are really made.
TEST(EnqueuedOrder, EveryRankSendsItsPart) {
  for (const int ranks : {2, 3, 4, 5, 8, 13, 16, 32})
    for (const int64_t size : {1, ranks, 100, 1000}) {
      SCOPED_TRACE(concat(ranks, " ranks, ", size, " elements"));
      World world(place(ranks, Placement::spread), 1024);
      StreamModel model(4);
      const Interception interception(model);
      Play play(world, model, DType::float32, size, size, true);
      ASSERT_TRUE(
          ok(all_reduce(play.output, {.algorithm = Algorithm::ring}, world.communicator, play.handles)));
      int64_t all = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const int64_t bytes = model.bytes_copied_on(world.communicator.of(rank).copies);
        const double ideal = 2.0 * (ranks - 1) / ranks * static_cast<double>(size * 4);
        EXPECT_LE(std::abs(static_cast<double>(bytes) - ideal), 2 * (ranks - 1) * 16) << "rank " << rank;
        all += bytes;
      }
      EXPECT_EQ(all, 2 * (ranks - 1) * size * 4);
    }
}

// The model itself sees what it is there for.
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
