// bench/timing: percentiles, samples of calls whose operands take turns, caches, and the peaks of tensor
// cores.
#include <gtest/gtest.h>

#include <rondo/bench/timing/bound.h>
#include <rondo/bench/timing/call_timer.h>
#include <rondo/bench/timing/machine.h>
#include <rondo/bench/timing/peak_kernels.h>
#include <rondo/bench/timing/peaks.h>
#include <rondo/bench/timing/percentiles.h>
#include <rondo/bench/timing/tensor_peak_kernels.h>
#include <rondo/kernels/runtime/platform.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>

namespace rondo::bench {
namespace {

TEST(Percentiles, OfAKnownSequence) {
  std::vector<double> samples(101);
  std::iota(samples.begin(), samples.end(), 0.0);  // the percentile p is p
  std::rotate(samples.begin(), samples.begin() + 40, samples.end());
  const Percentiles p = percentiles_of(samples);
  EXPECT_DOUBLE_EQ(p.p5, 5);
  EXPECT_DOUBLE_EQ(p.median, 50);
  EXPECT_DOUBLE_EQ(p.p95, 95);
  EXPECT_DOUBLE_EQ(p.p99, 99);
}

TEST(Percentiles, BetweenSamplesAreInterpolated) {
  const Percentiles p = percentiles_of({30, 10});
  EXPECT_DOUBLE_EQ(p.p5, 11);
  EXPECT_DOUBLE_EQ(p.median, 20);
  EXPECT_DOUBLE_EQ(p.p99, 29.8);
  EXPECT_DOUBLE_EQ(median_of({4, 1, 3}), 3);
  EXPECT_DOUBLE_EQ(percentiles_of({7}).p99, 7);
  EXPECT_EQ(percentiles_of({}).median, 0);
}

// A call that takes a millisecond, and records its index when it runs.
struct Recorder {
  struct Call {
    Recorder* all;
    int64_t index;
  };
  std::vector<int64_t> indices;
  std::vector<std::unique_ptr<Call>> calls;

  IndexedCall call() {
    return [this](int64_t index, cudaStream_t stream) {
      calls.push_back(std::make_unique<Call>(this, index));
      const auto run = [](void* data) {
        const Call& done = *static_cast<Call*>(data);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        done.all->indices.push_back(done.index);
      };
      return from_cuda(cudaLaunchHostFunc(stream, run, calls.back().get()), "a call");
    };
  }
};

TEST(CallTimer, EachCallIsASampleWithTheNextOperands) {
  Recorder recorder;
  Stream stream;
  CallTimer timer(stream, recorder.call(), 3);
  EXPECT_EQ(timer.calls_per_sample(), 1);
  EXPECT_GE(timer.sample_seconds(), 1e-3);
  std::vector<double> seconds;
  timer.sample(20, seconds);
  ASSERT_EQ(seconds.size(), 20u);
  EXPECT_GE(*std::ranges::min_element(seconds), 1e-3);
  EXPECT_GT(recorder.indices.size(), 20u);  // with those that are not timed
  for (size_t i = 0; i < recorder.indices.size(); ++i)
    EXPECT_EQ(recorder.indices[i], static_cast<int64_t>(i));
}

TEST(CallTimer, ShortCallsAreTimedInRowsThatUseAllOperands) {
  constexpr int64_t kPeriod = 700;
  std::vector<int64_t> indices;
  Stream stream;
  CallTimer timer(
      stream,
      [&](int64_t index, cudaStream_t s) {
        indices.push_back(index % kPeriod);
        return empty_kernel(s);
      },
      kPeriod, /*shortest=*/10);
  EXPECT_GE(timer.calls_per_sample(), kPeriod);
  EXPECT_EQ(timer.calls_per_sample() % kPeriod, 0);
  // The calls of the row are the last that were enqueued: all operands, equally often.
  ASSERT_GE(static_cast<int64_t>(indices.size()), timer.calls_per_sample());
  std::vector<int64_t> times(kPeriod, 0);
  for (auto at = indices.end() - timer.calls_per_sample(); at != indices.end(); ++at)
    ++times[static_cast<size_t>(*at)];
  EXPECT_EQ(std::ranges::count(times, timer.calls_per_sample() / kPeriod), kPeriod);
  const size_t enqueued = indices.size();
  std::vector<double> seconds;
  timer.sample(3, seconds);
  EXPECT_EQ(seconds.size(), 3u);
  EXPECT_LT(*std::ranges::max_element(seconds), 1e-3);  // of a call, not of the row
  EXPECT_EQ(indices.size(), enqueued);                  // replays do not enqueue again
}

// A row of calls decides near the limit: five slow calls at the beginning do not.
TEST(CallTimer, NearTheLimitARowDecides) {
  constexpr double kLimit = 20e-3;
  const auto calls_per_sample = [](int64_t slow_calls) {
    Stream stream;
    std::vector<int64_t> milliseconds(4096);
    const IndexedCall call = [&](int64_t index, cudaStream_t s) {
      milliseconds[static_cast<size_t>(index)] = index < slow_calls ? 25 : 1;
      return from_cuda(
          cudaLaunchHostFunc(
              s,
              [](void* time) {
                std::this_thread::sleep_for(std::chrono::milliseconds(*static_cast<int64_t*>(time)));
              },
              &milliseconds[static_cast<size_t>(index)]),
          "a call");
    };
    return CallTimer(stream, call, /*period=*/2, kLimit).calls_per_sample();
  };
  EXPECT_EQ(calls_per_sample(6), 2);     // slow at first: a row of two calls
  EXPECT_EQ(calls_per_sample(4096), 1);  // slow always, and less than twice the limit
}

TEST(CallTimer, ThrowsTheErrorOfACall) {
  Stream stream;
  EXPECT_THROW(CallTimer(
                   stream, [](int64_t, cudaStream_t) { return bad_argument("no"); }, 1),
               Error);
}

void write_cache(const std::filesystem::path& folder, const std::string& level, const std::string& size,
                 const std::string& processors) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "level") << level << "\n";
  std::ofstream(folder / "size") << size << "\n";
  std::ofstream(folder / "shared_cpu_list") << processors << "\n";
}

TEST(LastLevelCache, IsTheSumOfTheHighestLevel) {
  std::string name = (std::filesystem::temp_directory_path() / "rondo-test-XXXXXX").string();
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  const std::filesystem::path root = name;
  for (int cpu = 0; cpu < 4; ++cpu) {
    const std::filesystem::path caches = root / concat("cpu", cpu) / "cache";
    write_cache(caches / "index0", "1", "32K", concat(cpu));
    write_cache(caches / "index2", "2", "1024K", concat(cpu));
    write_cache(caches / "index3", "3", "16384K", cpu < 2 ? "0-1" : "2-3");
  }
  write_cache(root / "cpufreq" / "cache" / "index9", "9", "1G", "0");  // no size, and no processor
  EXPECT_EQ(cpu_last_level_cache(root).bytes, int64_t{32} << 20);
  EXPECT_NE(cpu_last_level_cache(root).source.find("L3"), std::string::npos);
  std::filesystem::remove_all(root);
  EXPECT_EQ(cpu_last_level_cache(root).bytes, 0);
  EXPECT_GT(last_level_cache().bytes, 0);
}

// ---- The kernels of the tensor-core peaks ----

template <class T>
Buffer<unsigned char> ones() {
  const std::vector<T> values(kTensorOperandBytes / sizeof(T), T(1.0f));
  Buffer<unsigned char> buffer(kTensorOperandBytes);
  RONDO_CUDA_THROW(cudaMemcpy(buffer.data(), values.data(), kTensorOperandBytes, cudaMemcpyHostToDevice));
  return buffer;
}

using Chains = Status (*)(VectorView<float>, const void*, Arithmetic, int64_t, int, cudaStream_t);

// All operands are 1, so every result is the number of products, and the sums of a block are its FLOP / 2.
template <class T>
void expect_products(Chains chains, Arithmetic arithmetic, double flops) {
  constexpr int kLength = 8;
  const Buffer<unsigned char> operands = ones<T>();
  Buffer<float> sums(2 * kTensorThreads);
  run_once([&](cudaStream_t s) {
    return chains({sums.data(), sums.size()}, operands.data(), arithmetic, 2, kLength, s);
  });
  const std::vector<float> found = sums.download();
  EXPECT_EQ(*std::ranges::min_element(found), *std::ranges::max_element(found));
  EXPECT_EQ(2 * std::accumulate(found.begin(), found.end(), 0.0), 2 * kLength * flops) << name_of(arithmetic);
}

TEST(TensorPeakKernels, MmaMultipliesAsOftenAsItCounts) {
  if (!check_math("", Math::tf32).ok()) GTEST_SKIP() << "needs compute capability 8.0";
  expect_products<float>(mma_chains, Arithmetic::tf32, mma_chains_flops(Arithmetic::tf32));
  expect_products<__nv_bfloat16>(mma_chains, Arithmetic::bf16, mma_chains_flops(Arithmetic::bf16));
  expect_products<__half>(mma_chains, Arithmetic::fp16, mma_chains_flops(Arithmetic::fp16));
}

TEST(TensorPeakKernels, WgmmaMultipliesAsOftenAsItCounts) {
  if (!check_wgmma("").ok()) GTEST_SKIP() << "needs compute capability 9.0";
  expect_products<float>(wgmma_chains, Arithmetic::tf32, wgmma_chains_flops(Arithmetic::tf32));
  expect_products<__nv_bfloat16>(wgmma_chains, Arithmetic::bf16, wgmma_chains_flops(Arithmetic::bf16));
  expect_products<__half>(wgmma_chains, Arithmetic::fp16, wgmma_chains_flops(Arithmetic::fp16));
}

TEST(TensorPeakKernels, RefuseWhatTheyDoNotHave) {
  Buffer<float> sums(kTensorThreads);
  const VectorView<float> to = {sums.data(), sums.size()};
  for (const Chains chains : {mma_chains, wgmma_chains}) {
    for (const Arithmetic arithmetic : {Arithmetic::fp32, Arithmetic::tf32x3})
      EXPECT_EQ(chains(to, nullptr, arithmetic, 1, 8, nullptr).code(), StatusCode::bad_argument);
    EXPECT_EQ(chains(to, nullptr, Arithmetic::bf16, 2, 8, nullptr).code(), StatusCode::bad_argument);
  }
  EXPECT_EQ(wgmma_chains(to, nullptr, Arithmetic::bf16, 1, 7, nullptr).code(), StatusCode::bad_argument);
}

TEST(TensorPeak, IsMeasuredOnGpusOnly) {
  EXPECT_EQ(tensor_flops_per_second(Arithmetic::fp32), 0);
  if (std::string(platform()) == "cpu") {
    EXPECT_EQ(tensor_flops_per_second(Arithmetic::bf16), 0);
    EXPECT_EQ(bound_of({.flops = 1e12, .bytes = 1}, Arithmetic::bf16).name, "fp32 FMA peak");
    return;
  }
  if (!check_math("", Math::tf32).ok()) GTEST_SKIP() << "needs compute capability 8.0";
  EXPECT_GT(tensor_flops_per_second(Arithmetic::bf16), peaks().fma_flops_per_second);
  EXPECT_DOUBLE_EQ(tensor_flops_per_second(Arithmetic::tf32x3),
                   tensor_flops_per_second(Arithmetic::tf32) / 3);
  EXPECT_EQ(bound_of({.flops = 1e12, .bytes = 1}, Arithmetic::bf16).name, "bf16 tensor-core peak");
}

}  // namespace
}  // namespace rondo::bench
