// Errors of the operations other than all_reduce() (all_reduce_arguments_test.cpp has those of all_reduce()):
// each names the rank and the value, and a refused call changes nothing.
#include <rondo/tests/collectives/communicator_fixture.h>

#include <limits>

namespace rondo::test {
namespace {

using Outputs = std::vector<DataView>;
using Inputs = std::vector<ConstDataView>;
using Streams = std::vector<cudaStream_t>;

class Arguments : public testing::Test {
 protected:
  static constexpr int kRanks = 3;
  static constexpr int64_t kBlock = 10, kSize = kRanks * kBlock;

  void SetUp() override {
    for (size_t rank = 0; rank < kRanks; ++rank) {
      blocks_.push_back(blocks.view(static_cast<int>(rank)));
      wholes_.push_back(wholes.view(static_cast<int>(rank)));
    }
  }
  void TearDown() override {
    fixture_.synchronize();
    EXPECT_TRUE(ok(fixture_.communicator.state()));
    for (size_t rank = 0; rank < kRanks; ++rank) {
      EXPECT_TRUE(all_equal_bits(blocks.download(rank), block_values[rank])) << "a refusal changed something";
      EXPECT_TRUE(all_equal_bits(wholes.download(rank), whole_values[rank])) << "a refusal changed something";
    }
  }

  // The operations, with one vector per rank of kBlock or kSize elements.
  Status scatter(const Outputs& out, const Inputs& in, const ReduceOptions& options = {}) {
    return reduce_scatter(out, in, options, fixture_.communicator, streams_);
  }
  Status gather(const Outputs& out, const Inputs& in, Algorithm algorithm = Algorithm::ring) {
    return all_gather(out, in, algorithm, fixture_.communicator, streams_);
  }
  Status send(const Outputs& out, ConstDataView in, int root, Algorithm algorithm = Algorithm::ring) {
    return broadcast(out, in, root, algorithm, fixture_.communicator, streams_);
  }
  Status collect(DataView out, const Inputs& in, int root, const ReduceOptions& options = {}) {
    return reduce(out, in, root, options, fixture_.communicator, streams_);
  }
  Status exchange(const Outputs& out, const Inputs& in) {
    return all_to_all(out, in, fixture_.communicator, streams_);
  }
  Status coalesced(const std::vector<Outputs>& lists, const ReduceOptions& options = {}) {
    return all_reduce_coalesced(lists, options, fixture_.communicator, streams_);
  }
  Inputs inputs(const Outputs& views) const { return {views.begin(), views.end()}; }
  // The views with that of `rank` changed.
  template <class Change>
  Outputs with_changed(Outputs views, size_t rank, Change change) const {
    change(views[rank]);
    return views;
  }
  // Lists with one vector per rank.
  static std::vector<Outputs> lists_of(const Outputs& views) {
    std::vector<Outputs> lists;
    for (const DataView& view : views) lists.push_back({view});
    return lists;
  }

  CommunicatorFixture fixture_{
      place(kRanks, Placement::pairs)};  // ranks 0 and 1 on device 0, rank 2 on device 1
  Streams streams_ = fixture_.handles;
  std::vector<std::vector<float>> block_values = exact_inputs(kRanks, kBlock, 3);
  std::vector<std::vector<float>> whole_values = exact_inputs(kRanks, kSize, 4);
  RankVectors blocks{fixture_.devices, block_values}, wholes{fixture_.devices, whole_values};
  Outputs blocks_, wholes_;
};

TEST_F(Arguments, OneVectorARank) {
  const Outputs two = {blocks_[0], blocks_[1]}, two_wholes = {wholes_[0], wholes_[1]};
  EXPECT_TRUE(refused(scatter(two, inputs(wholes_)), "reduce_scatter: there are 2 outputs, must be 3"));
  EXPECT_TRUE(refused(scatter(blocks_, inputs(two_wholes)), "reduce_scatter: there are 2 inputs, must be 3"));
  EXPECT_TRUE(refused(gather(two_wholes, inputs(blocks_)), "all_gather: there are 2 outputs, must be 3"));
  EXPECT_TRUE(refused(gather(wholes_, inputs(two)), "all_gather: there are 2 inputs, must be 3"));
  EXPECT_TRUE(refused(send(two, wholes_[2].part(0, kBlock), 2), "broadcast: there are 2 outputs, must be 3"));
  EXPECT_TRUE(
      refused(collect(wholes_[0].part(0, kBlock), inputs(two), 0), "reduce: there are 2 inputs, must be 3"));
  EXPECT_TRUE(refused(exchange(two_wholes, inputs(wholes_)), "all_to_all: there are 2 outputs, must be 3"));
  EXPECT_TRUE(refused(coalesced({{blocks_[0]}, {blocks_[1]}}),
                      "all_reduce_coalesced: there are 2 lists of vectors, must be 3"));
  EXPECT_TRUE(refused(coalesced({{blocks_[0]}, {blocks_[1]}, {}}),
                      "all_reduce_coalesced: rank 2 has 0 vectors, must have 1"));
  EXPECT_TRUE(refused(coalesced({{blocks_[0]}, {blocks_[1], wholes_[1]}, {blocks_[2]}}),
                      "all_reduce_coalesced: rank 1 has 2 vectors, must have 1"));
}

TEST_F(Arguments, Sizes) {
  const auto shorter = [](DataView& view) { --view.size; };
  EXPECT_TRUE(refused(scatter(with_changed(blocks_, 1, shorter), inputs(wholes_)),
                      "the output of rank 1 has 9 elements, must have 10"));
  EXPECT_TRUE(refused(scatter(blocks_, inputs(with_changed(wholes_, 2, shorter))),
                      "the input of rank 2 has 29 elements, must have 30"));
  EXPECT_TRUE(refused(gather(with_changed(wholes_, 2, shorter), inputs(blocks_)),
                      "the output of rank 2 has 29 elements, must have 30"));
  EXPECT_TRUE(refused(gather(wholes_, inputs(with_changed(blocks_, 1, shorter))),
                      "the input of rank 1 has 9 elements, must have 10"));
  EXPECT_TRUE(refused(send(with_changed(blocks_, 2, shorter), wholes_[0].part(0, kBlock), 0),
                      "the output of rank 2 has 9 elements"));
  EXPECT_TRUE(refused(collect(wholes_[1].part(0, kBlock), inputs(with_changed(blocks_, 0, shorter)), 1),
                      "the input of rank 0 has 9 elements"));
  const Outputs other = {blocks_[0], blocks_[1], blocks_[2]};
  EXPECT_TRUE(refused(exchange(other, inputs(other)),
                      "the input of rank 0 has 10 elements, must have a multiple of 3"));
  EXPECT_TRUE(refused(exchange(with_changed(wholes_, 1, shorter), inputs(wholes_)),
                      "the output of rank 1 has 29 elements, must have 30"));
  EXPECT_TRUE(refused(coalesced(lists_of(with_changed(blocks_, 1, shorter))),
                      "the output of rank 1 has 9 elements, must have 10"));
  EXPECT_TRUE(refused(coalesced(lists_of(with_changed(blocks_, 1, shorter))), "in vector 0"));
}

TEST_F(Arguments, InvalidSizes) {
  const auto negative = [](DataView& view) { view.size = -1; };
  const auto all_negative = [&](Outputs views) {
    for (DataView& view : views) negative(view);
    return views;
  };
  EXPECT_TRUE(
      refused(scatter(all_negative(blocks_), inputs(wholes_)), "has the size -1, must not be negative"));
  EXPECT_TRUE(refused(gather(wholes_, inputs(all_negative(blocks_))), "has the size -1"));
  EXPECT_TRUE(refused(send(all_negative(blocks_), all_negative(blocks_)[0], 0), "has the size -1"));
  EXPECT_TRUE(
      refused(collect(all_negative(blocks_)[0], inputs(all_negative(blocks_)), 0), "has the size -1"));
  EXPECT_TRUE(refused(coalesced(lists_of(all_negative(blocks_))), "has the size -1"));
  const auto huge = [](DataView& view) { view.size = std::numeric_limits<int64_t>::max() / 2; };
  EXPECT_TRUE(refused(scatter(with_changed(blocks_, 0, huge), inputs(wholes_)),
                      "the output of rank 0 has 4611686018427387903 elements, must have at most"));
  EXPECT_TRUE(refused(gather(wholes_, inputs(with_changed(blocks_, 0, huge))),
                      "the input of rank 0 has 4611686018427387903 elements, must have at most"));
}

// The largest vectors have 2^50 bytes. What is at the limit is refused for another reason.
TEST_F(Arguments, SizesAtTheirLimit) {
  for (const DType dtype : kDTypes) {
    SCOPED_TRACE(name_of(dtype));
    const int64_t most = (int64_t{1} << 50) / size_of(dtype);
    const auto all_of = [&](int64_t size) {
      Outputs views;
      for (const DataView& view : wholes_) views.emplace_back(view.data, size, dtype);
      return views;
    };
    const auto beyond = concat("elements, must have at most ", most, " of ", name_of(dtype));
    const Outputs largest = all_of(most), larger = all_of(most + 1);
    const auto sum = [&](const Outputs& views) {
      return all_reduce(views, {}, fixture_.communicator, streams_);
    };
    EXPECT_TRUE(refused(sum(largest), "overlaps"));
    EXPECT_TRUE(refused(sum(larger), beyond));
    EXPECT_TRUE(refused(coalesced(lists_of(largest)), "overlaps"));
    EXPECT_TRUE(refused(coalesced(lists_of(larger)), beyond));
    EXPECT_TRUE(refused(send(largest, ConstDataView(largest[0]), 0), "overlaps"));
    EXPECT_TRUE(refused(send(larger, ConstDataView(larger[0]), 0), beyond));
    EXPECT_TRUE(refused(collect(largest[0], inputs(largest), 0), "overlaps"));
    EXPECT_TRUE(refused(collect(larger[0], inputs(larger), 0), beyond));
    // Blocks of all ranks: the product is what is limited.
    const Outputs block = all_of(most / kRanks), larger_block = all_of(most / kRanks + 1);
    EXPECT_TRUE(refused(scatter(block, inputs(all_of(most / kRanks * kRanks))), "overlaps"));
    EXPECT_TRUE(refused(scatter(larger_block, inputs(all_of((most / kRanks + 1) * kRanks))), beyond));
    EXPECT_TRUE(refused(gather(all_of(most / kRanks * kRanks), inputs(block)), "overlaps"));
    EXPECT_TRUE(refused(gather(all_of((most / kRanks + 1) * kRanks), inputs(larger_block)), beyond));
    EXPECT_TRUE(refused(exchange(all_of(most / kRanks * kRanks), inputs(all_of(most / kRanks * kRanks))),
                        "overlaps"));
    EXPECT_TRUE(
        refused(exchange(all_of((most / kRanks + 1) * kRanks), inputs(all_of((most / kRanks + 1) * kRanks))),
                beyond));
  }
}

// Sizes whose product with the number of ranks, or of bytes, is beyond 2^63 or 2^64.
TEST_F(Arguments, SizesThatWrapAround) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 8 / kRanks;
  const auto sized = [](Outputs views, int64_t size) {
    for (DataView& view : views) view.size = size;
    return views;
  };
  const auto beyond = concat("elements, must have at most ", kMost, " for 3 ranks");
  EXPECT_TRUE(refused(scatter(sized(blocks_, kMost), inputs(wholes_)), "of float32"));
  EXPECT_TRUE(refused(gather(sized(wholes_, 3 * kMost), inputs(sized(blocks_, kMost))), "of float32"));
  const int64_t wraps_to_2 = 6'148'914'691'236'517'206;  // times 3
  for (const int64_t size : {kMost + 1, wraps_to_2, std::numeric_limits<int64_t>::max()}) {
    const auto product = static_cast<int64_t>(static_cast<uint64_t>(size) * kRanks);
    EXPECT_TRUE(refused(scatter(sized(blocks_, size), inputs(sized(wholes_, product))), beyond));
    EXPECT_TRUE(refused(gather(sized(wholes_, product), inputs(sized(blocks_, size))), beyond));
  }
  for (const int shift : {60, 61, 62}) {  // times 4 bytes: 2^62, 2^63, 2^64
    const Outputs large = sized(wholes_, int64_t{1} << shift);
    EXPECT_TRUE(refused(all_reduce(large, {}, fixture_.communicator, streams_), "of float32"));
    EXPECT_TRUE(refused(coalesced(lists_of(large)), "of float32"));
  }
  const Outputs negative = sized(wholes_, -3);  // a multiple of the number of ranks
  EXPECT_TRUE(refused(exchange(negative, inputs(negative)), "has the size -3, must not be negative"));
}

TEST_F(Arguments, Types) {
  const auto other = [](DataView& view) { view.dtype = DType::int32; };
  EXPECT_TRUE(refused(scatter(with_changed(blocks_, 1, other), inputs(wholes_)),
                      "the output of rank 1 is int32, must be float32"));
  EXPECT_TRUE(refused(scatter(blocks_, inputs(with_changed(wholes_, 0, other))),
                      "the input of rank 0 is int32, must be float32"));
  EXPECT_TRUE(refused(gather(with_changed(wholes_, 0, other), inputs(blocks_)),
                      "the output of rank 0 is int32, must be float32"));
  EXPECT_TRUE(refused(send(with_changed(blocks_, 2, other), wholes_[0].part(0, kBlock), 0),
                      "the output of rank 2 is int32"));
  EXPECT_TRUE(refused(collect(wholes_[1].part(0, kBlock), inputs(with_changed(blocks_, 2, other)), 1),
                      "the input of rank 2 is int32"));
  EXPECT_TRUE(refused(exchange(wholes_, inputs(with_changed(wholes_, 1, other))), "is int32"));
  EXPECT_TRUE(refused(coalesced(lists_of(with_changed(blocks_, 2, other))),
                      "the output of rank 2 is int32, must be float32"));
}

TEST_F(Arguments, PointersThatCanBeUsed) {
  const auto null = [](DataView& view) { view.data = nullptr; };
  const auto misaligned = [](DataView& view) { view.data = static_cast<std::byte*>(view.data) + 1; };
  std::vector<float> host(kSize);
  const auto on_host = [&](DataView& view) { view.data = host.data(); };
  EXPECT_TRUE(refused(scatter(with_changed(blocks_, 1, null), inputs(wholes_)),
                      "the output of rank 1 is null with 10 elements"));
  EXPECT_TRUE(
      refused(gather(wholes_, inputs(with_changed(blocks_, 2, misaligned))), "the input of rank 2 is at"));
  EXPECT_TRUE(refused(send(with_changed(blocks_, 0, on_host), wholes_[1].part(0, kBlock), 1),
                      "which is not a device's memory, must be of device 0"));
  EXPECT_TRUE(refused(send(blocks_, ConstDataView(host.data(), kBlock, DType::float32), 1),
                      "the input of rank 1 is at"));
  EXPECT_TRUE(refused(collect({nullptr, kBlock, DType::float32}, inputs(blocks_), 2),
                      "the output of rank 2 is null"));
  EXPECT_TRUE(
      refused(exchange(with_changed(wholes_, 2, misaligned), inputs(wholes_)), "must be aligned to 4 bytes"));
  EXPECT_TRUE(refused(coalesced(lists_of(with_changed(blocks_, 1, on_host))), "the output of rank 1 is at"));
}

TEST_F(Arguments, MemoryOfTheRanksDevice) {
  if (device_count() < 2) GTEST_SKIP() << "one device has no memory of another";
  const auto on_device_0 = [&](DataView& view) { view.data = wholes_[0].data; };
  EXPECT_TRUE(refused(scatter(with_changed(blocks_, 2, on_device_0), inputs(wholes_)),
                      "the output of rank 2 is in the memory of device 0, must be in that of device 1"));
  EXPECT_TRUE(refused(gather(wholes_, inputs(with_changed(blocks_, 2, on_device_0))),
                      "the input of rank 2 is in the memory of device 0"));
  EXPECT_TRUE(refused(send(blocks_, wholes_[0].part(0, kBlock), 2),
                      "the input of rank 2 is in the memory of device 0"));
  EXPECT_TRUE(refused(collect(wholes_[2].part(0, kBlock), inputs(blocks_), 1),
                      "the output of rank 1 is in the memory of device 1"));
  EXPECT_TRUE(refused(exchange(wholes_, inputs(with_changed(wholes_, 2, on_device_0))),
                      "the input of rank 2 is in the memory of device 0"));
}

// An output must be exactly in place or not overlap anything.
TEST_F(Arguments, InPlaceOrApart) {
  Outputs out;
  for (int rank = 0; rank < kRanks; ++rank) out.push_back(wholes_[static_cast<size_t>(rank)].part(0, kBlock));
  EXPECT_TRUE(refused(scatter(out, inputs(wholes_)),
                      "the output of rank 1 overlaps the input of rank 1, must be exactly in place"));
  EXPECT_TRUE(refused(gather(wholes_, inputs(out)),
                      "the output of rank 1 overlaps the input of rank 1, must be exactly in place"));
  EXPECT_TRUE(refused(send(blocks_, blocks_[0].part(0, kBlock), 1),
                      "the output of rank 0 overlaps the input of rank 1, must lie apart"));
  EXPECT_TRUE(refused(collect(wholes_[1].part(1, kBlock), inputs(out), 1),
                      "the output of rank 1 overlaps the input of rank 1"));
  EXPECT_TRUE(refused(collect(out[0], inputs(out), 1),
                      "the output of rank 1 overlaps the input of rank 0, must lie apart"));
  EXPECT_TRUE(refused(exchange(wholes_, inputs(wholes_)),
                      "the output of rank 0 overlaps the input of rank 0, must lie apart"));
  Outputs same = blocks_;
  same[1].data = same[0].data;
  EXPECT_TRUE(refused(scatter(same, inputs(wholes_)), "the output of rank 0 overlaps the output of rank 1"));
  EXPECT_TRUE(refused(coalesced({{blocks_[0], blocks_[0].part(9, 1)},
                                 {blocks_[1], wholes_[1].part(0, 1)},
                                 {blocks_[2], wholes_[2].part(0, 1)}}),
                      "vector 1 of rank 0 overlaps vector 0 of rank 0"));
}

TEST_F(Arguments, Roots) {
  for (const int root : {-1, 3}) {
    const std::string expected = concat("root is ", root, ", must be at least 0 and below 3");
    EXPECT_TRUE(refused(send(blocks_, wholes_[0].part(0, kBlock), root), "broadcast: " + expected));
    EXPECT_TRUE(refused(collect(wholes_[0].part(0, kBlock), inputs(blocks_), root), "reduce: " + expected));
  }
}

TEST_F(Arguments, UnsupportedAlgorithmsAndOrders) {
  for (const Algorithm algorithm : {Algorithm::root, Algorithm::hierarchical}) {
    const std::string expected =
        concat("the algorithm is ", algorithm, ", must be one of: automatic, ring, direct");
    EXPECT_TRUE(refused(scatter(blocks_, inputs(wholes_), {.algorithm = algorithm}), expected));
    EXPECT_TRUE(refused(gather(wholes_, inputs(blocks_), algorithm), expected));
    EXPECT_TRUE(refused(send(blocks_, wholes_[0].part(0, kBlock), 0, algorithm), expected));
    EXPECT_TRUE(
        refused(collect(wholes_[0].part(0, kBlock), inputs(blocks_), 0, {.algorithm = algorithm}), expected));
  }
  const ReduceOptions tree{.algorithm = Algorithm::ring, .order = SumOrder::balanced_tree};
  const std::string expected = "a balanced tree, which the algorithm ring does not have";
  EXPECT_TRUE(refused(scatter(blocks_, inputs(wholes_), tree), expected));
  EXPECT_TRUE(refused(collect(wholes_[0].part(0, kBlock), inputs(blocks_), 0, tree), expected));
  EXPECT_TRUE(refused(coalesced(lists_of(blocks_), tree), expected));
}

TEST_F(Arguments, CoalescedNeedsABucket) {
  CommunicatorFixture without(place(kRanks, Placement::pairs), int64_t{64});
  EXPECT_TRUE(refused(all_reduce_coalesced(lists_of(blocks_), {}, without.communicator, without.handles),
                      "made with bucket_bytes 0, must be above 0"));
}

// All operations with invalid streams.
class ArgumentStreams : public Arguments {
 protected:
  void expect_refused(const std::string& expected) {
    const DataView apart = wholes_[0].part(0, kBlock);
    EXPECT_TRUE(refused(scatter(blocks_, inputs(wholes_)), "reduce_scatter: " + expected));
    EXPECT_TRUE(refused(gather(wholes_, inputs(blocks_)), "all_gather: " + expected));
    EXPECT_TRUE(refused(send(blocks_, apart, 0), "broadcast: " + expected));
    EXPECT_TRUE(refused(collect(apart, inputs(blocks_), 0), "reduce: " + expected));
    EXPECT_TRUE(refused(coalesced(lists_of(blocks_)), "all_reduce_coalesced: " + expected));
    EXPECT_TRUE(refused(barrier(fixture_.communicator, streams_), "barrier: " + expected));
    RankVectors out(fixture_.devices, kSize);
    EXPECT_TRUE(refused(exchange(out.views(), inputs(wholes_)), "all_to_all: " + expected));
  }
};

TEST_F(ArgumentStreams, OneARank) {
  streams_.pop_back();
  expect_refused("there are 2 streams, must be 3");
}

TEST_F(ArgumentStreams, OfTheRanksDevice) {
  if (device_count() < 2) GTEST_SKIP() << "one device has no streams of another";
  std::swap(streams_[1], streams_[2]);
  expect_refused("the stream of rank 1 is of device 1, must be of device 0");
}

}  // namespace
}  // namespace rondo::test
