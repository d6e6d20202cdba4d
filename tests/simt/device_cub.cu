#include <algorithm>
#include <cub/cub.cuh>
#include <limits>
#include <numeric>
#include <random>

#include "device_testing.h"

using namespace simt_test;

namespace {

TEST(Cub, BlockReduce) {
  std::atomic<int> wrong{0};
  run_ok({3, 96, 1024}, [&] {
    using Reduce = cub::BlockReduce<int, 96>;
    auto& storage = shared<Reduce::TempStorage>();
    const int t = static_cast<int>(threadIdx.x);
    const int sum = Reduce(storage).Sum(t);
    if (t == 0) wrong += sum != 95 * 48;
    __syncthreads();
    const int some = Reduce(storage).Sum(t, 10);
    if (t == 0) wrong += some != 45;
    __syncthreads();
    const int most = Reduce(storage).Reduce((t * 7) % 96, cuda::maximum<>());
    if (t == 0) wrong += most != 95;
    __syncthreads();
    int pair[2] = {t, 1};
    const int both = Reduce(storage).Sum(pair);
    if (t == 0) wrong += both != 95 * 48 + 96;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Cub, BlockReduceKeepsTheOrderOfThreads) {
  struct Range {
    int begin, end;
  };
  std::atomic<int> wrong{0};
  run_ok({1, 64, 1024}, [&] {
    using Reduce = cub::BlockReduce<Range, 64>;
    const int t = static_cast<int>(threadIdx.x);
    const Range all = Reduce(shared<Reduce::TempStorage>()).Reduce(Range{t, t + 1}, [&](Range a, Range b) {
      wrong += a.end != b.begin;
      return Range{a.begin, b.end};
    });
    if (t == 0) wrong += all.begin != 0 || all.end != 64;
  });
  EXPECT_EQ(wrong, 0);
}

// The order of CUB's warp reductions, by an operation whose result depends on it: neighbours first, and in a
// block the warps from the first to the last.
TEST(Cub, ReductionsCombineNeighboursFirst) {
  const auto operation = [](unsigned a, unsigned b) { return 31 * a + 17 * b + 1; };
  const auto of_warp = [&](unsigned first, unsigned count) {
    std::vector<unsigned> values(count);
    std::iota(values.begin(), values.end(), first);
    while (values.size() > 1) {
      std::vector<unsigned> pairs;
      for (size_t i = 0; i < values.size(); i += 2)
        pairs.push_back(i + 1 < values.size() ? operation(values[i], values[i + 1]) : values[i]);
      values = pairs;
    }
    return values[0];
  };
  const unsigned of_block = operation(operation(of_warp(0, 32), of_warp(32, 32)), of_warp(64, 13));
  std::atomic<int> wrong{0};
  run_ok({1, 96, 1024}, [&] {
    using Reduce = cub::BlockReduce<unsigned, 96>;
    const unsigned t = threadIdx.x;
    const unsigned all = Reduce(shared<Reduce::TempStorage>()).Reduce(t, operation, 77);
    if (t == 0) wrong += all != of_block;
    cub::WarpReduce<unsigned>::TempStorage storage;
    const unsigned whole = cub::WarpReduce<unsigned>(storage).Reduce(t, operation);
    if (t % 32 == 0) wrong += whole != of_warp(t, 32);
    const unsigned some = cub::WarpReduce<unsigned>(storage).Reduce(t, operation, 7);
    if (t % 32 == 0) wrong += some != of_warp(t, 7);
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Cub, WarpReduce) {
  std::atomic<int> wrong{0};
  run_ok({1, 64}, [&] {
    cub::WarpReduce<int>::TempStorage storage;
    const int t = static_cast<int>(threadIdx.x), lane = t % 32;
    const int sum = cub::WarpReduce<int>(storage).Sum(t);
    if (lane == 0) wrong += sum != t * 32 + 496;
    cub::WarpReduce<int, 8>::TempStorage small;
    const int part = cub::WarpReduce<int, 8>(small).Sum(1, 5);
    if (lane % 8 == 0) wrong += part != 5;
    if (lane < 8) {
      const int least = cub::WarpReduce<int, 8>(small).Reduce(8 - lane, cuda::minimum<>());
      if (lane == 0) wrong += least != 1;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Cub, BlockScan) {
  std::atomic<int> wrong{0};
  run_ok({1, 50, 1024}, [&] {
    using Scan = cub::BlockScan<int, 50>;
    auto& storage = shared<Scan::TempStorage>();
    const int t = static_cast<int>(threadIdx.x);
    int before, total, upto, most;
    Scan(storage).ExclusiveSum(t, before, total);
    wrong += before != t * (t - 1) / 2 || total != 50 * 49 / 2;
    __syncthreads();
    Scan(storage).InclusiveSum(t, upto);
    wrong += upto != t * (t + 1) / 2;
    __syncthreads();
    Scan(storage).InclusiveScan(t == 20 ? 100 : t, most, cuda::maximum<>());
    wrong += most != (t >= 20 ? 100 : t);
    __syncthreads();
    Scan(storage).ExclusiveScan(1, before, 1000, cuda::std::plus<>());
    wrong += before != 1000 + t;
  });
  EXPECT_EQ(wrong, 0);
}

// The values in device memory. They are copied back at the end.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& values) : size_(values.size()) {
    EXPECT_EQ(cudaMalloc(&data_, (size_ + 1) * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~OnDevice() { EXPECT_EQ(cudaFree(data_), cudaSuccess); }
  T* data() { return data_; }
  std::vector<T> values() {
    std::vector<T> host(size_);
    EXPECT_EQ(cudaMemcpy(host.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return host;
  }

 private:
  T* data_ = nullptr;
  size_t size_;
};

// Makes CUB's two calls of `algorithm(storage, bytes)`: one for the size, one for the work.
template <class Algorithm>
void run_device_wide(Algorithm algorithm) {
  size_t bytes = 0;
  ASSERT_EQ(algorithm(nullptr, bytes), cudaSuccess);
  ASSERT_GE(bytes, 1u);
  OnDevice<char> storage{std::vector<char>(bytes)};
  ASSERT_EQ(algorithm(storage.data(), bytes), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(Cub, DeviceSumAndScan) {
  for (const int n : {0, 1, 1000}) {
    std::vector<int> in(n);
    std::iota(in.begin(), in.end(), 5);
    OnDevice<int> from(in), to(in), sum({-1});
    run_device_wide(
        [&](void* s, size_t& b) { return cub::DeviceReduce::Sum(s, b, from.data(), sum.data(), n); });
    EXPECT_EQ(sum.values()[0], std::accumulate(in.begin(), in.end(), 0));
    std::vector<int> expected(n);
    run_device_wide(
        [&](void* s, size_t& b) { return cub::DeviceScan::ExclusiveSum(s, b, from.data(), to.data(), n); });
    std::exclusive_scan(in.begin(), in.end(), expected.begin(), 0);
    EXPECT_EQ(to.values(), expected);
    run_device_wide(
        [&](void* s, size_t& b) { return cub::DeviceScan::InclusiveSum(s, b, from.data(), to.data(), n); });
    std::inclusive_scan(in.begin(), in.end(), expected.begin());
    EXPECT_EQ(to.values(), expected);
  }
}

template <class Key>
void sort_pairs(int n, int begin_bit, int end_bit, std::vector<Key> keys,
                const std::function<bool(Key, Key)>& less) {
  std::vector<int> values(n);
  std::iota(values.begin(), values.end(), 0);
  OnDevice<Key> keys_in(keys), keys_out(keys);
  OnDevice<int> values_in(values), values_out(values);
  run_device_wide([&](void* s, size_t& b) {
    return cub::DeviceRadixSort::SortPairs(s, b, keys_in.data(), keys_out.data(), values_in.data(),
                                           values_out.data(), n, begin_bit, end_bit);
  });
  std::stable_sort(values.begin(), values.end(), [&](int a, int b) { return less(keys[a], keys[b]); });
  EXPECT_EQ(values_out.values(), values);
  EXPECT_EQ(keys_in.values(), keys);
  const std::vector<Key> sorted = keys_out.values();
  for (int i = 0; i < n; ++i) EXPECT_EQ(sorted[i], keys[values[i]]);
}

TEST(Cub, RadixSortOfAnyBits) {
  std::mt19937 random(1);
  for (const int n : {0, 1, 2, 1000})
    for (const auto& [begin, end] : {std::pair(0, 32), {0, 1}, {0, 10}, {5, 29}, {31, 32}, {7, 7}}) {
      std::vector<unsigned> keys(n);
      for (unsigned& key : keys) key = random() % 3 == 0 ? random() : random() % 50;
      const uint64_t mask = (uint64_t{1} << end) - (uint64_t{1} << begin);
      sort_pairs<unsigned>(n, begin, end, keys,
                           [=](unsigned a, unsigned b) { return (a & mask) < (b & mask); });
    }
}

TEST(Cub, RadixSortOfSignedAndFloat) {
  std::mt19937 random(2);
  std::vector<int> ints(500);
  for (int& key : ints) key = static_cast<int>(random());
  sort_pairs<int>(500, 0, 32, ints, std::less<>());
  std::vector<float> floats(500);
  for (float& key : floats) key = std::normal_distribution<float>()(random);
  floats[3] = std::numeric_limits<float>::infinity();
  floats[100] = 0.0f, floats[200] = -0.0f, floats[300] = 0.0f;
  sort_pairs<float>(500, 0, 32, floats, std::less<>());
}

TEST(Cub, SortKeysBothWaysAndCheckArguments) {
  std::mt19937 random(3);
  std::vector<uint64_t> keys(300);
  for (uint64_t& key : keys) key = uint64_t{random()} << 32 | random();
  OnDevice<uint64_t> in(keys), out(keys);
  run_device_wide(
      [&](void* s, size_t& b) { return cub::DeviceRadixSort::SortKeys(s, b, in.data(), out.data(), 300); });
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(out.values(), keys);
  run_device_wide([&](void* s, size_t& b) {
    return cub::DeviceRadixSort::SortKeysDescending(s, b, in.data(), out.data(), 300);
  });
  std::reverse(keys.begin(), keys.end());
  EXPECT_EQ(out.values(), keys);
  size_t too_few = 10;
  char storage[10];
  EXPECT_EQ(cub::DeviceRadixSort::SortKeys(storage, too_few, in.data(), out.data(), 300),
            cudaErrorInvalidValue);
}

}  // namespace
