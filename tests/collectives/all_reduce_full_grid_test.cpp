// The complete grid of all_reduce(), and vectors of more than 2^31 elements. Takes minutes.
//
// Runs every combination of rank count, size up to 65537, type, reduction, placement of the output, alignment
// and algorithm; if the ranks share a device, every fifth alignment. The largest sizes are combined with
// every type, reduction, algorithm and rank count, but only with one alignment and slot size each: alignment
// matters only at the ends of segments, and 65537 elements in slots of 64 KiB have all kinds of segments.
#include <rondo/tests/collectives/all_reduce_case.h>

namespace rondo::test {
namespace {

constexpr int kRanks[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16};

using Parameters = std::tuple<Algorithm, DType>;
class AllReduceFullGrid : public testing::TestWithParam<Parameters> {
 protected:
  Algorithm algorithm() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }

  // Every reduction, in place and out of place, with every n-th alignment: the same for inputs and outputs,
  // and different.
  void expect_right(CommunicatorFixture& fixture, int64_t size, int64_t every = 1) {
    const int ranks = fixture.communicator.size();
    visit(dtype(), [&](auto element) {
      for (const Reduction reduction : kReductions) {
        const auto data =
            exact_data<decltype(element)>(reduction, ranks, size, static_cast<uint64_t>(size) + 5);
        for (const bool in_place : {true, false})
          for (int64_t offset = 0; offset < 16; offset += every) {
            const AllReduceCase c{.algorithm = algorithm(),
                                  .reduction = reduction,
                                  .in_place = in_place,
                                  .input_offset = offset,
                                  .output_offset = offset % 2 ? offset * 7 % 16 : offset,
                                  .staggered = offset % 3 == 2};
            ASSERT_TRUE(all_reduces(fixture, c, data)) << ranks << " ranks, " << size << " elements";
          }
      }
    });
  }
};
INSTANTIATE_TEST_SUITE_P(All, AllReduceFullGrid,
                         testing::Combine(testing::ValuesIn(kAlgorithms), testing::ValuesIn(kDTypes)),
                         [](const testing::TestParamInfo<Parameters>& info) {
                           return concat(name_of(std::get<0>(info.param)), "_",
                                         name_of(std::get<1>(info.param)));
                         });

TEST_P(AllReduceFullGrid, SmallSizes) {
  for (const int ranks : kRanks)
    for (const Placement placement : {Placement::spread, Placement::together}) {
      CommunicatorFixture fixture(place(ranks, placement), 1024);
      for (const int64_t size : {0, 1, ranks - 1, ranks, ranks + 1, 2 * ranks - 1, 1000}) {
        expect_right(fixture, size, placement == Placement::together ? 5 : 1);
        if (HasFatalFailure()) return;
      }
    }
}

TEST_P(AllReduceFullGrid, SixtyFiveThousandAndOne) {
  for (const int ranks : kRanks) {
    CommunicatorFixture fixture(place(ranks, Placement::spread), 64 << 10);
    expect_right(fixture, 65537);
    if (HasFatalFailure()) return;
  }
}

// The largest size runs with few ranks only, to save memory.
TEST_P(AllReduceFullGrid, Millions) {
  std::vector<std::pair<int, int64_t>> cases;
  for (const int ranks : kRanks) cases.emplace_back(ranks, 1'000'003);
  for (const int ranks : {1, 2, 3, 2, 3}) cases.emplace_back(ranks, 16'777'217);
  int next = 0;
  for (const auto& [ranks, size] : cases) {
    CommunicatorFixture fixture(place(ranks, Placement::spread), next % 3 ? 4 << 20 : 64 << 10);
    const Reduction reduction = kReductions[static_cast<size_t>(next) % std::size(kReductions)];
    const AllReduceCase c{.algorithm = algorithm(),
                          .reduction = reduction,
                          .in_place = next % 2 == 0,
                          .input_offset = next % 16,
                          .output_offset = next * 3 % 16};
    ++next;
    visit(dtype(), [&, ranks = ranks, size = size](auto element) {
      const auto data = exact_data<decltype(element)>(reduction, ranks, size, 9);
      ASSERT_TRUE(all_reduces(fixture, c, data)) << ranks << " ranks, " << size << " elements";
    });
    if (HasFatalFailure()) return;
  }
}

// Indices beyond 32 bits. The sum of element i is 3 (i + (i >> 24)) modulo 256, so that its high bits matter.
class AllReduceHuge : public testing::TestWithParam<Algorithm> {};
INSTANTIATE_TEST_SUITE_P(All, AllReduceHuge, testing::ValuesIn(kAlgorithms),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(AllReduceHuge, MoreThanTwoToThe31Elements) {
  constexpr int64_t kSize = (int64_t{1} << 31) + 12'345, kWindow = int64_t{64} << 20;
  const auto element = [](int64_t i, int64_t rank) {
    return static_cast<uint8_t>((i + (i >> 24)) * (rank + 1));
  };
  CommunicatorFixture fixture({0, 0}, int64_t{4} << 20);
  std::vector<Buffer<uint8_t>> memory;
  std::vector<DataView> views;
  std::vector<uint8_t> window(static_cast<size_t>(kWindow));
  const auto for_windows = [&](auto work) {
    for (int64_t begin = 0; begin < kSize; begin += kWindow) work(begin, std::min(kWindow, kSize - begin));
  };
  for (int rank = 0; rank < 2; ++rank) {
    memory.emplace_back(kSize);
    views.push_back(VectorView<uint8_t>{memory.back().data(), kSize});
    for_windows([&](int64_t begin, int64_t size) {
      for (int64_t i = 0; i < size; ++i) window[static_cast<size_t>(i)] = element(begin + i, rank);
      RONDO_CUDA_THROW(cudaMemcpy(memory.back().data() + begin, window.data(), static_cast<size_t>(size),
                                  cudaMemcpyHostToDevice));
    });
    // A copy from pageable memory may return before it ends.
    RONDO_CUDA_THROW(cudaDeviceSynchronize());
  }
  ASSERT_TRUE(ok(all_reduce(views, {.algorithm = GetParam()}, fixture.communicator, fixture.handles)));
  fixture.synchronize();
  for (const Buffer<uint8_t>& of_rank : memory)
    for_windows([&](int64_t begin, int64_t size) {
      RONDO_CUDA_THROW(cudaMemcpy(window.data(), of_rank.data() + begin, static_cast<size_t>(size),
                                  cudaMemcpyDeviceToHost));
      int64_t wrong = 0;
      for (int64_t i = 0; i < size; ++i)
        wrong += window[static_cast<size_t>(i)] !=
                 static_cast<uint8_t>(element(begin + i, 0) + element(begin + i, 1));
      ASSERT_EQ(wrong, 0) << "among the elements from " << begin;
    });
}

}  // namespace
}  // namespace rondo::test
