// A trace does not disturb work that it does not record.
#include <gtest/gtest.h>

#include <rondo/kernels/runtime/trace.h>
#include <rondo/tests/support/skip_without_devices.h>
#include <rondo/tests/support/status_checks.h>

#include <atomic>
#include <chrono>
#include <thread>

#ifdef __SIMT__
#include <simt/settings.h>
#endif

namespace rondo {
namespace {

// While a stream of a device is captured, waiting for the device or its default stream is an error in every
// thread.
TEST(Trace, IsMadeAndCollectedWhileAStreamIsCaptured) {
  const Stream captured, traced;
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal), cudaSuccess);
  std::vector<TraceSpan> spans;
  std::thread([&] {
    Trace trace({0});
    { const Trace::Scope span = trace.scope("nothing", "test", 0, "compute", traced); }
    spans = trace.collect();
  }).join();
  ASSERT_EQ(cudaStreamEndCapture(captured, &graph), cudaSuccess) << "the trace has spoilt the capture";
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_LE(spans[0].begin_us, spans[0].end_us);
}

TEST(Trace, RecordsBeginAndDuration) {
  const Stream stream;
  const auto begin = std::chrono::steady_clock::now();
  Trace trace({0});
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto sleep = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  {
    const Trace::Scope span = trace.scope("sleep", "test", 0, "compute", stream);
    ASSERT_EQ(cudaLaunchHostFunc(stream, sleep, nullptr), cudaSuccess);
  }
  const std::vector<TraceSpan> spans = trace.collect();
  const double all =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_GE(spans[0].begin_us, 4900);
  EXPECT_GE(spans[0].end_us - spans[0].begin_us, 19'900);
  EXPECT_LE(spans[0].end_us, all + 1000);
}

TEST(Trace, RefusesRanksThatItDoesNotHave) {
  for (const int rank : {-1, 1}) {
    Trace trace({0});
    { const Trace::Scope span = trace.scope("product", "test", rank, "compute", nullptr); }
    try {
      static_cast<void>(trace.collect());
      ADD_FAILURE() << rank;
    } catch (const Error& error) {
      EXPECT_EQ(error.status().code(), StatusCode::bad_argument) << rank;
      EXPECT_STREQ(error.what(),
                   concat("trace: the span product is of rank ", rank, ", the trace has 1 rank").c_str());
    }
  }
}

#ifdef __SIMT__
// The trace begins while device 1 is busy: its first event is later than that of device 0, and the times of
// both count from the call.
TEST(Trace, DevicesHaveOneZero) {
  const int before = simt::settings().connections;
  SKIP_WITHOUT_DEVICES(2);
  ASSERT_EQ(simt::set_connections(1), cudaSuccess);  // the trace's stream waits for the busy one
  const DeviceScope scope(1);
  const Stream busy;
  std::atomic<bool> begins = false;
  const auto sleep_from_then = [](void* flag) {
    while (!*static_cast<std::atomic<bool>*>(flag)) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  };
  ASSERT_EQ(cudaLaunchHostFunc(busy, sleep_from_then, &begins), cudaSuccess);
  begins = true;
  Trace trace({0, 1});
  const auto begun = std::chrono::steady_clock::now();
  ASSERT_EQ(simt::set_connections(before), cudaSuccess);
  for (const int rank : {0, 1}) {
    const DeviceScope device(rank);
    const Stream stream;
    const double since =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun).count();
    { const Trace::Scope span = trace.scope("nothing", "test", rank, "compute", stream); }
    const std::vector<TraceSpan> spans = trace.collect();
    ASSERT_EQ(spans.size(), static_cast<size_t>(rank) + 1);
    EXPECT_GE(spans.back().begin_us, since + 40'000) << "rank " << rank;
  }
}
#endif

}  // namespace
}  // namespace rondo
