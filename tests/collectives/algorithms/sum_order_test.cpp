// The order in which each operation adds, bit by bit: plain loops in the order that collectives.h documents
// for each algorithm. The data are such that another order gives other bits.
#include <rondo/tests/collectives/exact_data.h>
#include <rondo/tests/collectives/settings.h>

#include <functional>

namespace rondo::test {
namespace {

// Small numbers, and for each element two ranks with a large number and its negative, so that sums between
// these two lose their last bits. This also affects 16-bit floats, which are summed in fp32.
template <class T>
std::vector<std::vector<T>> order_sensitive_inputs(int ranks, int64_t size) {
  const double large = std::is_same_v<T, double> ? 0x1p43 : 0x1p14;
  std::vector<std::vector<T>> inputs;
  for (int rank = 0; rank < ranks; ++rank) {
    Random random(static_cast<uint64_t>(size * 100 + rank));
    std::vector<T>& input = inputs.emplace_back();
    for (int64_t i = 0; i < size; ++i) {
      const int64_t plus = i % ranks, minus = (plus + 1 + i / ranks % (ranks - 1)) % ranks;
      input.push_back(rounded<T>(rank == plus ? large : rank == minus ? -large : random.normal() / 256));
    }
  }
  return inputs;
}

template <class T>
using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;  // the type of partial sums

// ranks[0] + ranks[1] + ... from left to right, rounded once.
template <class T>
T sum_along(const std::vector<std::vector<T>>& inputs, const std::vector<int>& ranks, size_t element) {
  const auto at = [&](int rank) { return static_cast<Sum<T>>(inputs[static_cast<size_t>(rank)][element]); };
  Sum<T> sum = at(ranks[0]);
  for (size_t k = 1; k < ranks.size(); ++k) sum += at(ranks[k]);
  return static_cast<T>(sum);
}

// All ranks of the ring in order, beginning at `position`.
std::vector<int> around(const std::vector<int>& ring, size_t position) {
  std::vector<int> ranks;
  for (size_t k = 0; k < ring.size(); ++k) ranks.push_back(ring[(position + k) % ring.size()]);
  return ranks;
}
std::vector<int> ascending(int ranks) {
  std::vector<int> order(static_cast<size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  return order;
}
size_t position_of(const std::vector<int>& ring, int rank) {
  return static_cast<size_t>(std::find(ring.begin(), ring.end(), rank) - ring.begin());
}

// The sum of every element, where element i is added in the order order_of(i). Checks that the data is
// sensitive to the order: the reversed order and the order shifted by one rank must give other bits
// somewhere.
template <class T>
std::vector<T> sum_in_order(const std::vector<std::vector<T>>& inputs,
                            const std::function<std::vector<int>(int64_t element)>& order_of) {
  std::vector<T> sum, reversed, rotated;
  for (size_t i = 0; i < inputs[0].size(); ++i) {
    std::vector<int> order = order_of(static_cast<int64_t>(i));
    sum.push_back(sum_along(inputs, order, i));
    std::rotate(order.begin(), order.begin() + 1, order.end());
    rotated.push_back(sum_along(inputs, order, i));
    std::reverse(order.begin(), order.end());
    reversed.push_back(sum_along(inputs, order, i));
  }
  if (inputs.size() > 2) {
    EXPECT_FALSE(all_equal_bits(reversed, sum)) << "the data would not show the order reversed";
    EXPECT_FALSE(all_equal_bits(rotated, sum)) << "the data would not show the order begun one rank later";
  }
  return sum;
}

struct Parameters {
  Algorithm algorithm;
  DType dtype;
};
class SumOrderOf : public testing::TestWithParam<Parameters> {
 protected:
  static constexpr int64_t kBlock = 601;

  // Calls test(element, fixture, ring) for 2 to 16 ranks, with the ring in order and shuffled, in one segment
  // and in many.
  template <class Test>
  void for_fixtures(Test test) {
    for (const int ranks : {2, 3, 4, 7, 8, 16})
      for (const bool shuffled : {false, true})
        for (const int64_t slot_bytes : {int64_t{64}, int64_t{64} << 10}) {
          SCOPED_TRACE(concat(ranks, " ranks", shuffled ? " shuffled" : "", ", slots of ", slot_bytes));
          CommunicatorOptions options{.slot_bytes = slot_bytes, .bucket_bytes = 0};
          std::vector<int> ring = shuffled ? shuffled_ring(ranks) : ascending(ranks);
          options.ring_order = ring;
          CommunicatorFixture fixture(place(ranks, Placement::spread), options);
          visit(GetParam().dtype, [&](auto element) {
            if constexpr (!std::is_integral_v<decltype(element)>) test(element, fixture, ring);
          });
          if (HasFailure()) return;
        }
  }
  ReduceOptions options() const { return {.algorithm = GetParam().algorithm}; }
  bool by_ring() const { return GetParam().algorithm == Algorithm::ring; }
};

constexpr DType kFloats[] = {DType::float32, DType::float64, DType::bfloat16, DType::float16};

std::vector<Parameters> by(std::initializer_list<Algorithm> algorithms) {
  std::vector<Parameters> all;
  for (const Algorithm algorithm : algorithms)
    for (const DType dtype : kFloats) all.push_back({algorithm, dtype});
  return all;
}
std::string name_parameters(const testing::TestParamInfo<Parameters>& info) {
  return concat(name_of(info.param.algorithm), "_", name_of(info.param.dtype));
}

class AllReduceOrderOf : public SumOrderOf {};
INSTANTIATE_TEST_SUITE_P(All, AllReduceOrderOf,
                         testing::ValuesIn(by({Algorithm::ring, Algorithm::direct, Algorithm::root})),
                         name_parameters);

TEST_P(AllReduceOrderOf, IsAsDocumented) {
  for_fixtures([&](auto element, CommunicatorFixture& fixture, const std::vector<int>& ring) {
    using T = decltype(element);
    const auto ranks = static_cast<int64_t>(ring.size());
    const int64_t size = kBlock;
    const auto inputs = order_sensitive_inputs<T>(static_cast<int>(ranks), size);
    // A chunk is an n-th part, rounded up to 16 bytes. Chunk c begins at the rank at position c.
    int64_t chunk = (size + ranks - 1) / ranks;
    while (chunk * static_cast<int64_t>(sizeof(T)) % 16 != 0) ++chunk;
    const std::vector<T> want = sum_in_order<T>(inputs, [&](int64_t i) {
      return by_ring() ? around(ring, static_cast<size_t>(i / chunk)) : ascending(static_cast<int>(ranks));
    });
    TypedVectors<T> data(fixture.devices, inputs, 3);
    ASSERT_TRUE(ok(all_reduce(data.views(), options(), fixture.communicator, fixture.handles)));
    fixture.synchronize();
    for (size_t rank = 0; rank < inputs.size(); ++rank)
      ASSERT_TRUE(all_equal_bits(data.download(rank), want)) << "rank " << rank;
  });
}

class ReduceOrderOf : public SumOrderOf {};
INSTANTIATE_TEST_SUITE_P(All, ReduceOrderOf, testing::ValuesIn(by({Algorithm::ring, Algorithm::direct})),
                         name_parameters);

// The ring ends at the owner of the result, so it begins one position after it.
TEST_P(ReduceOrderOf, ReduceScatterIsAsDocumented) {
  for_fixtures([&](auto element, CommunicatorFixture& fixture, const std::vector<int>& ring) {
    using T = decltype(element);
    const auto ranks = static_cast<int>(ring.size());
    const auto inputs = order_sensitive_inputs<T>(ranks, ranks * kBlock);
    const std::vector<T> want = sum_in_order<T>(inputs, [&](int64_t i) {
      return by_ring() ? around(ring, position_of(ring, static_cast<int>(i / kBlock)) + 1) : ascending(ranks);
    });
    TypedVectors<T> in(fixture.devices, inputs), out(fixture.devices, kBlock);
    ASSERT_TRUE(
        ok(reduce_scatter(out.views(), in.const_views(), options(), fixture.communicator, fixture.handles)));
    fixture.synchronize();
    for (int rank = 0; rank < ranks; ++rank)
      ASSERT_TRUE(all_equal_bits(out.download(static_cast<size_t>(rank)), block_of(want, rank, kBlock)))
          << "rank " << rank;
  });
}

TEST_P(ReduceOrderOf, ReduceIsAsDocumented) {
  for_fixtures([&](auto element, CommunicatorFixture& fixture, const std::vector<int>& ring) {
    using T = decltype(element);
    const auto ranks = static_cast<int>(ring.size());
    const auto inputs = order_sensitive_inputs<T>(ranks, kBlock);
    TypedVectors<T> in(fixture.devices, inputs);
    for (const int root : {0, ranks / 2, ranks - 1}) {
      const std::vector<T> want = sum_in_order<T>(inputs, [&](int64_t) {
        return by_ring() ? around(ring, position_of(ring, root) + 1) : ascending(ranks);
      });
      TypedVectors<T> out({fixture.devices[static_cast<size_t>(root)]}, kBlock);
      ASSERT_TRUE(ok(
          reduce(out.views()[0], in.const_views(), root, options(), fixture.communicator, fixture.handles)));
      fixture.synchronize();
      ASSERT_TRUE(all_equal_bits(out.download(0), want)) << "root " << root;
    }
  });
}

// all_reduce_coalesced() adds as all_reduce() of the bucket, in which every vector begins at a multiple of 16
// bytes.
TEST(AllReduceCoalescedOrder, IsThatOfTheBucket) {
  constexpr int kRanks = 5;
  const std::vector<int64_t> sizes = {7, 0, 130, 64, 1};
  for (const Algorithm algorithm : kAlgorithms) {
    CommunicatorFixture fixture(place(kRanks, Placement::spread));
    std::vector<std::unique_ptr<RankVectors>> vectors;
    std::vector<std::vector<DataView>> lists(kRanks);
    std::vector<std::vector<float>> bucket(kRanks);
    std::vector<size_t> begins;
    for (const int64_t size : sizes) {
      const auto inputs = order_sensitive_inputs<float>(kRanks, size);
      vectors.push_back(std::make_unique<RankVectors>(fixture.devices, inputs));
      begins.push_back(bucket[0].size());
      for (size_t rank = 0; rank < kRanks; ++rank) {
        lists[rank].push_back(vectors.back()->views()[rank]);
        bucket[rank].insert(bucket[rank].end(), inputs[rank].begin(), inputs[rank].end());
        while (bucket[rank].size() % 4 != 0) bucket[rank].push_back(0);
      }
    }
    const std::vector<float> want = documented_sum(bucket, algorithm);
    ASSERT_TRUE(
        ok(all_reduce_coalesced(lists, {.algorithm = algorithm}, fixture.communicator, fixture.handles)));
    fixture.synchronize();
    for (size_t k = 0; k < sizes.size(); ++k)
      for (size_t rank = 0; rank < kRanks; ++rank) {
        const auto begin = want.begin() + static_cast<std::ptrdiff_t>(begins[k]);
        ASSERT_TRUE(all_equal_bits(vectors[k]->download(rank), std::vector<float>(begin, begin + sizes[k])))
            << algorithm << ", vector " << k << ", rank " << rank;
      }
  }
}

}  // namespace
}  // namespace rondo::test
