// all_reduce_coalesced(): vectors of several types, some that fit the bucket and some that do not, reduced in
// place.
#include <rondo/tests/collectives/exact_data.h>
#include <rondo/tests/collectives/settings.h>
#include <rondo/tests/kernels/launch_names.h>

#include <functional>

namespace rondo::test {
namespace {

// One vector of every rank, with its type erased.
struct Member {
  std::vector<DataView> views;  // [rank]
  std::function<testing::AssertionResult()> reduced;
};

template <class T>
Member make_member(const CommunicatorFixture& fixture, Reduction reduction, int64_t size, uint64_t seed) {
  auto data =
      std::make_shared<ExactData<T>>(exact_data<T>(reduction, fixture.communicator.size(), size, seed));
  auto vectors =
      std::make_shared<TypedVectors<T>>(fixture.devices, data->inputs, static_cast<int64_t>(seed % 16));
  return {vectors->views(), [data, vectors] {
            for (size_t rank = 0; rank < data->inputs.size(); ++rank)
              if (auto right = all_equal_bits(vectors->download(rank), data->want); !right)
                return right << "; rank " << rank;
            return testing::AssertionSuccess();
          }};
}

class Members {
 public:
  explicit Members(const CommunicatorFixture& fixture) : fixture_(fixture), lists_(fixture.devices.size()) {}

  void add(DType dtype, Reduction reduction, int64_t size) {
    const uint64_t seed = members_.size() + 1;
    members_.push_back(visit(dtype, [&](auto element) {
      return make_member<decltype(element)>(fixture_, reduction, size, seed);
    }));
    for (size_t rank = 0; rank < lists_.size(); ++rank) lists_[rank].push_back(members_.back().views[rank]);
  }
  const std::vector<std::vector<DataView>>& lists() const { return lists_; }
  void expect_reduced() const {
    for (size_t k = 0; k < members_.size(); ++k) ASSERT_TRUE(members_[k].reduced()) << "vector " << k;
  }

 private:
  const CommunicatorFixture& fixture_;
  std::vector<Member> members_;
  std::vector<std::vector<DataView>> lists_;  // [rank][vector]
};

constexpr int64_t kSizes[] = {0, 1, 2, 15, 16, 17, 100, 1023, 2500};

void expect_coalesced(int ranks, Placement placement, int64_t bucket_bytes, Algorithm algorithm,
                      Reduction reduction, size_t vectors, uint64_t seed) {
  SCOPED_TRACE(concat(ranks, " ranks ", placement, ", bucket of ", bucket_bytes, " bytes, ", algorithm, ", ",
                      name_of(reduction), ", ", vectors, " vectors, seed ", seed));
  CommunicatorFixture fixture(place(ranks, placement),
                              CommunicatorOptions{.slot_bytes = 256, .bucket_bytes = bucket_bytes});
  Members members(fixture);
  Random random(seed);
  DType dtype = DType::float32;
  for (size_t k = 0; k < vectors; ++k) {
    if (random.below(4) == 0) dtype = kDTypes[static_cast<size_t>(random.below(std::size(kDTypes)))];
    members.add(dtype, reduction, kSizes[static_cast<size_t>(random.below(std::size(kSizes)))]);
  }
  ASSERT_TRUE(ok(all_reduce_coalesced(members.lists(), {.reduction = reduction, .algorithm = algorithm},
                                      fixture.communicator, fixture.handles)));
  fixture.synchronize();
  members.expect_reduced();
}

TEST(AllReduceCoalesced, ReducesEveryVector) {
  uint64_t seed = 0;
  for (const Algorithm algorithm : kAlgorithms)
    for (const int ranks : {1, 2, 3, 8})
      for (const int64_t bucket_bytes : {16, 1000, 64 << 10}) {
        ++seed;
        expect_coalesced(ranks, seed % 2 ? Placement::spread : Placement::pairs, bucket_bytes, algorithm,
                         kReductions[seed % std::size(kReductions)], 20, seed);
        if (HasFatalFailure()) return;
      }
}

// One launch packs 64 vectors. All vectors here fit one bucket.
TEST(AllReduceCoalesced, ReducesMoreVectorsThanOneLaunchPacks) {
  for (const size_t vectors : {63, 64, 65, 200}) {
    CommunicatorFixture fixture(place(3, Placement::spread),
                                CommunicatorOptions{.slot_bytes = 4096, .bucket_bytes = 1 << 20});
    Members members(fixture);
    for (size_t k = 0; k < vectors; ++k)
      members.add(DType::bfloat16, Reduction::sum, k % 7 == 3 ? 0 : static_cast<int64_t>(k % 50) + 1);
    ASSERT_TRUE(ok(all_reduce_coalesced(members.lists(), {}, fixture.communicator, fixture.handles)));
    fixture.synchronize();
    members.expect_reduced();
  }
}

// The bucket is reused for the next vectors, under every legal order of the operations.
TEST(AllReduceCoalesced, ABucketIsFilledAgainOnlyWhenItWasEmptied) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    CommunicatorFixture fixture(place(3, seed % 2 ? Placement::spread : Placement::together),
                                CommunicatorOptions{.slot_bytes = 128, .bucket_bytes = 256});
    Members members(fixture);
    for (int k = 0; k < 12; ++k) members.add(DType::float32, Reduction::sum, 21 + k);
    RandomOrder order(seed);
    const Algorithm algorithm = kAlgorithms[seed % std::size(kAlgorithms)];
    ASSERT_TRUE(ok(all_reduce_coalesced(members.lists(), {.algorithm = algorithm}, fixture.communicator,
                                        fixture.handles)));
    fixture.synchronize();
    members.expect_reduced();
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

// The kernels of a call whose vectors of floats have these sizes.
size_t launches(int64_t bucket_bytes, const std::vector<int64_t>& sizes) {
  CommunicatorFixture fixture(place(2, Placement::together),
                              CommunicatorOptions{.slot_bytes = 4096, .bucket_bytes = bucket_bytes});
  Members members(fixture);
  for (const int64_t size : sizes) members.add(DType::float32, Reduction::sum, size);
  const LaunchNames launched;
  EXPECT_TRUE(ok(all_reduce_coalesced(members.lists(), {.algorithm = Algorithm::direct}, fixture.communicator,
                                      fixture.handles)));
  fixture.synchronize();
  members.expect_reduced();
  return launched.names.size();
}

// A vector alone takes a sum of each of the two ranks; a bucket also a kernel before it and one after it.
TEST(AllReduceCoalesced, FillsBucketsToTheLastByte) {
  constexpr size_t kAlone = 2, kBucket = 6;
  EXPECT_EQ(launches(256, {32, 32}), kBucket) << "256 bytes";
  EXPECT_EQ(launches(256, {60, 4}), kBucket);
  EXPECT_EQ(launches(256, {29, 31}), kBucket) << "each begins at a multiple of 16 bytes";
  EXPECT_EQ(launches(256, {64}), kAlone);
  EXPECT_EQ(launches(256, {32, 33}), 2 * kAlone) << "260 bytes";
  EXPECT_EQ(launches(255, {32, 32}), 2 * kAlone);
  EXPECT_EQ(launches(256, {33, 29}), 2 * kAlone) << "144 and 128 bytes";
  EXPECT_EQ(launches(256, {16, 16, 32, 8}), kBucket + kAlone);
  EXPECT_EQ(launches(256, {16, 16, 32, 8, 8}), 2 * kBucket);
}

TEST(AllReduceCoalesced, NoVectorsAreFine) {
  CommunicatorFixture fixture(place(2, Placement::spread));
  EXPECT_TRUE(ok(all_reduce_coalesced(std::vector<std::vector<DataView>>(2), {}, fixture.communicator,
                                      fixture.handles)));
  Members empty(fixture);
  for (int k = 0; k < 3; ++k) empty.add(DType::float64, Reduction::sum, 0);
  EXPECT_TRUE(ok(all_reduce_coalesced(empty.lists(), {}, fixture.communicator, fixture.handles)));
  fixture.synchronize();
}

// Vectors may be the parts of one memory, in any order.
TEST(AllReduceCoalesced, VectorsMayTouch) {
  CommunicatorFixture fixture(place(2, Placement::spread));
  Members members(fixture);
  members.add(DType::float32, Reduction::sum, 100);
  std::vector<std::vector<DataView>> lists;
  for (const std::vector<DataView>& list : members.lists())
    lists.push_back({list[0].part(60, 40), list[0].part(0, 17), list[0].part(17, 43)});
  ASSERT_TRUE(ok(all_reduce_coalesced(lists, {}, fixture.communicator, fixture.handles)));
  fixture.synchronize();
  members.expect_reduced();
}

TEST(AllReduceCoalesced, AnEmptyVectorOverlapsNothing) {
  CommunicatorFixture fixture(place(2, Placement::spread));
  Members members(fixture);
  members.add(DType::float32, Reduction::sum, 16);
  std::vector<std::vector<DataView>> lists = members.lists();
  for (std::vector<DataView>& list : lists) list.push_back(list[0].part(8, 0));
  ASSERT_TRUE(ok(all_reduce_coalesced(lists, {}, fixture.communicator, fixture.handles)));
  fixture.synchronize();
  members.expect_reduced();
}

}  // namespace
}  // namespace rondo::test
