#include <gtest/gtest.h>

#include <rondo/bench/support/bench.h>
#include <rondo/bench/timing/peak_kernels.h>
#include <rondo/bench/timing/row.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>

namespace rondo::bench {
namespace {

constexpr int64_t kCount = 3 * kStreamMultiple;

// Runs one call and waits for its end.
void run(const EnqueueFunction& enqueue) {
  Stream stream;
  const Status status = enqueue(stream);
  ASSERT_TRUE(status.ok()) << status.message();
  stream.synchronize();
}

TEST(StreamKernels, CopyCopies) {
  Buffer<float> from = normal_buffer(kCount, 1), to(kCount);
  run([&](cudaStream_t s) { return stream_copy({to.data(), kCount}, {from.data(), kCount}, s); });
  EXPECT_EQ(to.download(), from.download());
}

TEST(StreamKernels, TriadAddsAMultiple) {
  Buffer<float> a = normal_buffer(kCount, 1), b = normal_buffer(kCount, 2), to(kCount);
  run([&](cudaStream_t s) {
    return stream_triad({to.data(), kCount}, {a.data(), kCount}, {b.data(), kCount}, -3.0f, s);
  });
  const std::vector<float> xs = a.download(), ys = b.download(), found = to.download();
  for (size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], std::fma(-3.0f, ys[i], xs[i])) << "at " << i;
}

TEST(StreamKernels, ReadSumsEveryValueOnce) {
  // Small whole numbers make every sum exact, so that an omitted or repeated value is detected.
  std::vector<float> values(kCount);
  double expected = 0;
  for (size_t i = 0; i < values.size(); ++i) expected += values[i] = static_cast<float>(i % 61);
  Buffer<float> from(values), sums(stream_read_sums(kCount));
  run([&](cudaStream_t s) { return stream_read({sums.data(), sums.size()}, {from.data(), kCount}, s); });
  double found = 0;
  for (float sum : sums.download()) found += sum;
  EXPECT_EQ(found, expected);
}

TEST(StreamKernels, FmaChainsConvergeToTwo) {
  Buffer<float> sums(2 * kFmaThreads);
  run([&](cudaStream_t s) { return fma_chains({sums.data(), sums.size()}, 2, 200, s); });
  for (float sum : sums.download()) ASSERT_NEAR(sum, 2.0 * fma_chains_per_thread(), 1e-3);
}

TEST(StreamKernels, RefuseSizesThatDoNotFit) {
  Buffer<float> buffer(kCount);
  const VectorView<float> all = {buffer.data(), kCount}, odd = {buffer.data(), kCount - 1},
                          less = {buffer.data(), kCount - kStreamMultiple};
  EXPECT_EQ(stream_copy(all, less, nullptr).code(), StatusCode::bad_argument);
  EXPECT_EQ(stream_copy(odd, odd, nullptr).code(), StatusCode::bad_argument);
  EXPECT_EQ(stream_triad(all, less, all, 1, nullptr).code(), StatusCode::bad_argument);
  EXPECT_EQ(stream_triad(all, all, less, 1, nullptr).code(), StatusCode::bad_argument);
  EXPECT_EQ(stream_read(all, all, nullptr).code(), StatusCode::bad_argument);
  EXPECT_EQ(stream_read({buffer.data(), 1}, odd, nullptr).code(), StatusCode::bad_argument);
  EXPECT_EQ(fma_chains(all, 1, 1, nullptr).code(), StatusCode::bad_argument);
}

TEST(NormalBuffer, HasMeanZeroAndVarianceOneBeyondItsPeriod) {
  const std::vector<float> values = normal_buffer(3'000'001, 5).download();
  double sum = 0, squares = 0;
  for (float value : values) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const double count = static_cast<double>(values.size());
  EXPECT_NEAR(sum / count, 0, 0.01);
  EXPECT_NEAR(squares / count, 1, 0.01);
  EXPECT_NE(values, normal_buffer(3'000'001, 6).download());
}

TEST(Row, RunsItsCallsInOrder) {
  // Call i copies piece i to piece i + 1. The last piece equals the first one only if all calls ran in order.
  constexpr int kCalls = 6;
  Buffer<float> pieces = normal_buffer((kCalls + 1) * kStreamMultiple, 1);
  const auto piece = [&](int i) {
    return VectorView<float>{pieces.data() + i * kStreamMultiple, kStreamMultiple};
  };
  int calls = 0;
  Stream stream;
  Row row(
      stream,
      [&](cudaStream_t s) {
        ++calls;
        return stream_copy(piece(calls), piece(calls - 1), s);
      },
      kCalls);
  EXPECT_EQ(calls, kCalls);
  const std::vector<float> before = pieces.download();
  row.launch(stream);
  stream.synchronize();
  const std::vector<float> after = pieces.download();
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + kStreamMultiple, after.end() - kStreamMultiple));
}

TEST(Row, PassesOnTheErrorOfACall) {
  Stream stream;
  EXPECT_THROW(Row(
                   stream, [](cudaStream_t) { return bad_argument("no"); }, 3),
               Error);
  run(empty_kernel);  // the capture of the stream has ended, so the stream still works
}

TEST(Row, RefusesCallsBesideItsStream) {
  Stream stream, other;
  EXPECT_THROW(Row(
                   stream, [&](cudaStream_t) { return empty_kernel(other); }, 3),
               Error);
  EXPECT_THROW(Row(
                   stream, [](cudaStream_t) { return Status(); }, 3),
               Error);
  run(empty_kernel);
}

// A call that takes `milliseconds` on the device, and appends `mark` to the calls.
struct Call {
  std::string* calls;
  char mark;
  int milliseconds;
};
EnqueueFunction enqueue_of(Call& call) {
  return [&call](cudaStream_t stream) {
    const auto run = [](void* data) {
      const Call& done = *static_cast<Call*>(data);
      std::this_thread::sleep_for(std::chrono::milliseconds(done.milliseconds));
      done.calls->push_back(done.mark);
    };
    return from_cuda(cudaLaunchHostFunc(stream, run, &call), "a call");
  };
}

TEST(TimeBeside, TimesThePeerAsOftenAndInTurns) {
  constexpr int kTimes = 5;
  std::string calls;
  // Longer than a row, so that each row is one call.
  Call peer = {&calls, 'p', 8}, own = {&calls, 'o', 2};
  double share = 0, of_peer = 0;
  // Google Benchmark reads its flags before it runs.
  benchmark::ClearRegisteredBenchmarks();
  benchmark::RegisterBenchmark("beside",
                               [&](benchmark::State& state) {
                                 calls.clear();
                                 time_beside(state, {}, {"peer", enqueue_of(peer)}, enqueue_of(own));
                                 share = state.counters["share"];
                                 of_peer = state.counters["peer_seconds"];
                               })
      ->UseManualTime()
      ->Iterations(kTimes);
  class Silent : public benchmark::BenchmarkReporter {
    bool ReportContext(const Context&) override { return true; }
    void ReportRuns(const std::vector<Run>& runs) override {
      for (const Run& run : runs) {
        EXPECT_EQ(run.report_label, "of peer");
        median = run.GetAdjustedRealTime() * 1e-9;
      }
    }

   public:
    double median = 0;
  } silent;
  benchmark::RunSpecifiedBenchmarks(&silent);
  std::string expected;
  for (int i = 0; i < kTimes; ++i) expected += "po";
  ASSERT_GE(calls.size(), expected.size());
  EXPECT_EQ(calls.substr(calls.size() - expected.size()), expected) << calls;
  EXPECT_GE(of_peer, 8e-3);
  EXPECT_GE(silent.median, 2e-3);
  EXPECT_NEAR(share, of_peer / silent.median, 1e-9 * share);
}

class ColumnTime : public benchmark::BenchmarkReporter {
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override { seconds = runs[0].GetAdjustedRealTime() * 1e-9; }

 public:
  double seconds = 0;
};

TEST(IterationTimes, TheColumnIsTheMedian) {
  const std::vector<double> seconds = {3e-3, 1e-3, 2e-3, 1e-3, 100e-3};  // mean 21.4 ms
  for (const int64_t calls : {1, 7}) {
    double found = 0;
    benchmark::ClearRegisteredBenchmarks();
    benchmark::RegisterBenchmark("times",
                                 [&](benchmark::State& state) {
                                   IterationTimes times(state, calls);
                                   size_t next = 0;
                                   while (times.keep_running()) times.add(seconds[next++]);
                                   found = times.finish();
                                 })
        ->UseManualTime()
        ->Iterations(calls * static_cast<int64_t>(seconds.size()));
    ColumnTime column;
    ASSERT_EQ(benchmark::RunSpecifiedBenchmarks(&column), 1u);
    EXPECT_EQ(found, 2e-3);
    EXPECT_NEAR(column.seconds, 2e-3, 1e-12);
  }
}

// Rows of 100 calls of 10 us for 20 ms, and fewer in the trials with which Google Benchmark finds their
// number.
TEST(IterationTimes, RowsLastForTheTimeThatWasAskedFor) {
  int rows = 0;
  benchmark::ClearRegisteredBenchmarks();
  benchmark::RegisterBenchmark("rows",
                               [&](benchmark::State& state) {
                                 IterationTimes times(state, 100);
                                 for (; times.keep_running(); ++rows) times.add(10e-6);
                                 times.finish();
                               })
      ->UseManualTime()
      ->MinTime(20e-3);
  ColumnTime column;
  ASSERT_EQ(benchmark::RunSpecifiedBenchmarks(&column), 1u);
  EXPECT_NEAR(column.seconds, 10e-6, 1e-12);
  EXPECT_GE(rows, 20);
  EXPECT_LE(rows, 80);
}

TEST(Bound, IsTheLargerOfArithmeticAndTraffic) {
  const Peaks& peak = peaks();
  EXPECT_GT(peak.copy_bytes_per_second, 1e8);
  EXPECT_GT(peak.fma_flops_per_second, 1e8);
  const Bound compute = bound_of({.flops = peak.fma_flops_per_second, .bytes = 1});
  EXPECT_NEAR(compute.seconds, 1, 1e-9);
  EXPECT_EQ(compute.name, "fp32 FMA peak");
  const Bound memory = bound_of({.flops = 1, .bytes = 2 * peak.copy_bytes_per_second});
  EXPECT_NEAR(memory.seconds, 2, 1e-9);
  EXPECT_EQ(memory.name, "copy bandwidth");
}

}  // namespace
}  // namespace rondo::bench
