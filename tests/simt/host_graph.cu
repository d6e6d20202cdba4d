// Capture and replay.
#include <functional>

#include "host_support.h"

namespace simt_test {
namespace {

__global__ void times_ten_plus(int* out, int digit) { *out = *out * 10 + digit; }
__global__ void sum(int* out, const int* a, const int* b) { *out = *a + *b; }

class HostGraph : public HostTest {
 protected:
  void SetUp() override {
    HostTest::SetUp();
    stream_ = make_stream();
    event_ = make_event();
    out_ = allocate<int>(4);
    CUDA_OK(cudaMemset(out_, 0, 4 * sizeof(int)));
    CUDA_OK(cudaDeviceSynchronize());
  }
  void TearDown() override {
    cudaStreamDestroy(stream_);
    cudaEventDestroy(event_);
    cudaFree(out_);
    HostTest::TearDown();
  }
  void add_digit(cudaStream_t stream, int* out, int digit) {
    const auto config = shape(1, 1, stream);
    CUDA_OK(cudaLaunchKernelEx(&config, times_ten_plus, out, digit));
  }
  void begin(cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
    CUDA_OK(cudaStreamBeginCapture(stream_, mode));
  }
  // Ends the capture, which must have been invalidated.
  void end_invalidated() {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamIsCapturing(stream_, &status), cudaSuccess);
    EXPECT_EQ(status, cudaStreamCaptureStatusInvalidated);
    const auto config = shape(1, 1, stream_);
    CUDA_ERROR(cudaLaunchKernelEx(&config, times_ten_plus, out_, 1), cudaErrorStreamCaptureInvalidated);
    CUDA_ERROR(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(cudaStreamIsCapturing(stream_, &status), cudaSuccess);
    EXPECT_EQ(status, cudaStreamCaptureStatusNone);
    CUDA_OK(cudaStreamSynchronize(stream_));  // usable again
  }
  cudaGraphExec_t end() {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
    EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes_), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    return exec;
  }

  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;
  int* out_ = nullptr;
  size_t nodes_ = 0;
};

TEST_F(HostGraph, CaptureRunsNothingAndReplaysRunInOrder) {
  for (const auto seed : {std::optional<uint64_t>{}, std::optional<uint64_t>{1}}) {
    simt::set_seed(seed);
    begin();
    CUDA_OK(cudaMemsetAsync(out_, 0, sizeof(int), stream_));
    for (int digit = 1; digit <= 4; ++digit) add_digit(stream_, out_, digit);
    const cudaGraphExec_t exec = end();
    EXPECT_EQ(nodes_, 5u);
    EXPECT_EQ(read(out_ + 1), 0);
    begin();
    add_digit(stream_, out_ + 1, 5);
    const cudaGraphExec_t digits = end();
    for (int i = 0; i < 3; ++i) CUDA_OK(cudaGraphLaunch(exec, stream_));
    for (int i = 0; i < 8; ++i) CUDA_OK(cudaGraphLaunch(digits, stream_));
    CUDA_OK(cudaGraphExecDestroy(digits));  // while it is pending
    CUDA_OK(cudaStreamSynchronize(stream_));
    EXPECT_EQ(read(out_), 1234);
    EXPECT_EQ(read(out_ + 1), 55555555);
    CUDA_OK(cudaMemset(out_, 0, 4 * sizeof(int)));
    CUDA_OK(cudaDeviceSynchronize());
    CUDA_OK(cudaGraphExecDestroy(exec));
  }
}

TEST_F(HostGraph, DestroyingAStreamInvalidatesItsCapture) {
  const cudaStream_t other = make_stream();
  const cudaEvent_t forked = make_event();
  CUDA_OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
  CUDA_OK(cudaEventRecord(forked, stream_));
  CUDA_OK(cudaStreamWaitEvent(other, forked, 0));
  CUDA_OK(cudaStreamDestroy(other));
  cudaGraph_t graph = nullptr;
  CUDA_ERROR(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  CUDA_OK(cudaEventDestroy(forked));
}

// Replays of one executable graph never overlap, even from different streams.
TEST_F(HostGraph, ReplaysFromTwoStreamsAreOrdered) {
  begin();
  add_digit(stream_, out_, 1);
  add_digit(stream_, out_, 2);
  const cudaGraphExec_t exec = end();
  const cudaStream_t other = make_stream();
  for (uint64_t seed = 0; seed < 16; ++seed) {
    simt::set_seed(seed);
    CUDA_OK(cudaMemset(out_, 0, sizeof(int)));
    CUDA_OK(cudaDeviceSynchronize());
    for (int i = 0; i < 2; ++i) {
      CUDA_OK(cudaGraphLaunch(exec, stream_));
      CUDA_OK(cudaGraphLaunch(exec, other));
    }
    CUDA_OK(cudaDeviceSynchronize());
    ASSERT_EQ(read(out_), 12121212);
  }
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaStreamDestroy(other));
}

// A fork to a second device and a join. The contents of the memory change between the replays.
TEST_F(HostGraph, ReplaysOverTwoDevicesSeeNewContents) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    if (seed > 0) simt::set_seed(seed);
    CUDA_OK(cudaSetDevice(1));
    const cudaStream_t remote = make_stream();
    const cudaEvent_t done = make_event();
    int* there = allocate<int>(1);
    CUDA_OK(cudaSetDevice(0));
    begin();
    CUDA_OK(cudaEventRecord(event_, stream_));
    CUDA_OK(cudaStreamWaitEvent(remote, event_));
    CUDA_OK(cudaMemcpyAsync(there, out_, sizeof(int), cudaMemcpyDefault, remote));
    CUDA_OK(cudaSetDevice(1));
    add_digit(remote, there, 7);
    CUDA_OK(cudaSetDevice(0));
    CUDA_OK(cudaMemcpyAsync(out_ + 1, there, sizeof(int), cudaMemcpyDeviceToDevice, remote));
    CUDA_OK(cudaEventRecord(done, remote));
    CUDA_OK(cudaMemcpyAsync(out_ + 2, out_, sizeof(int), cudaMemcpyDeviceToDevice, stream_));
    CUDA_OK(cudaStreamWaitEvent(stream_, done));
    const auto config = shape(1, 1, stream_);
    CUDA_OK(cudaLaunchKernelEx(&config, sum, out_ + 3, out_ + 1, out_ + 2));
    const cudaGraphExec_t exec = end();
    EXPECT_EQ(nodes_, 5u);
    for (const int value : {3, 8, 21}) {
      CUDA_OK(cudaMemcpyAsync(out_, &value, sizeof(int), cudaMemcpyHostToDevice, stream_));
      CUDA_OK(cudaGraphLaunch(exec, stream_));
      CUDA_OK(cudaStreamSynchronize(stream_));
      ASSERT_EQ(read(out_ + 3), value * 10 + 7 + value);
    }
    CUDA_OK(cudaGraphExecDestroy(exec));
    CUDA_OK(cudaStreamDestroy(remote));
    CUDA_OK(cudaEventDestroy(done));
    CUDA_OK(cudaFree(there));
  }
}

TEST_F(HostGraph, ADeviceWaitsForItsPartOfAGraph) {
  CUDA_OK(cudaSetDevice(1));
  bool ran = false;
  const cudaStream_t remote = make_stream();
  const cudaEvent_t done = make_event();
  begin();
  CUDA_OK(cudaEventRecord(event_, stream_));
  CUDA_OK(cudaStreamWaitEvent(remote, event_));
  CUDA_OK(cudaLaunchHostFunc(
      remote, [](void* flag) { *static_cast<bool*>(flag) = true; }, &ran));
  CUDA_OK(cudaEventRecord(done, remote));
  CUDA_OK(cudaStreamWaitEvent(stream_, done));
  const cudaGraphExec_t exec = end();
  simt::set_seed(1);  // nothing runs until it is waited for
  CUDA_OK(cudaGraphLaunch(exec, stream_));
  CUDA_OK(cudaDeviceSynchronize());  // device 1; the stream belongs to device 0
  EXPECT_TRUE(ran);
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaStreamDestroy(remote));
  CUDA_OK(cudaEventDestroy(done));
}

TEST_F(HostGraph, ExternalEventsFireAtEveryReplay) {
  const cudaEvent_t start = make_event(cudaEventDefault), stop = make_event(cudaEventDefault);
  begin();
  CUDA_OK(cudaEventRecordWithFlags(start, stream_, cudaEventRecordExternal));
  CUDA_OK(cudaLaunchHostFunc(
      stream_, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }, nullptr));
  CUDA_OK(cudaEventRecordWithFlags(stop, stream_, cudaEventRecordExternal));
  const cudaGraphExec_t exec = end();
  EXPECT_EQ(nodes_, 3u);
  for (int i = 0; i < 2; ++i) {
    CUDA_OK(cudaGraphLaunch(exec, stream_));
    CUDA_ERROR(cudaEventQuery(stop), cudaErrorNotReady);
    CUDA_OK(cudaEventSynchronize(stop));
    float milliseconds = 0;
    CUDA_OK(cudaEventElapsedTime(&milliseconds, start, stop));
    EXPECT_GE(milliseconds, 4.0f);
  }
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaEventDestroy(start));
  CUDA_OK(cudaEventDestroy(stop));
}

// The pointers of a graph are checked at every replay.
TEST_F(HostGraph, ReplayingFreedMemoryIsAFault) {
  int* temporary = allocate<int>(1);
  CUDA_OK(cudaMemset(temporary, 0, sizeof(int)));
  CUDA_OK(cudaDeviceSynchronize());
  begin();
  add_digit(stream_, temporary, 1);
  const cudaGraphExec_t exec = end();
  CUDA_OK(cudaGraphLaunch(exec, stream_));
  CUDA_OK(cudaStreamSynchronize(stream_));
  CUDA_OK(cudaFree(temporary));
  testing::internal::CaptureStderr();
  CUDA_OK(cudaGraphLaunch(exec, stream_));
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorIllegalAddress);
  EXPECT_NE(testing::internal::GetCapturedStderr().find(argument("argument 1")), std::string::npos);
  CUDA_OK(cudaDeviceReset());
}

TEST_F(HostGraph, AGraphCanBeCapturedIntoAnother) {
  begin();
  add_digit(stream_, out_, 1);
  add_digit(stream_, out_, 2);
  const cudaGraphExec_t inner = end();
  begin();
  add_digit(stream_, out_, 9);
  CUDA_OK(cudaGraphLaunch(inner, stream_));
  add_digit(stream_, out_, 3);
  const cudaGraphExec_t outer = end();
  EXPECT_EQ(nodes_, 4u);
  CUDA_OK(cudaGraphExecDestroy(inner));
  CUDA_OK(cudaGraphLaunch(outer, stream_));
  CUDA_OK(cudaStreamSynchronize(stream_));
  EXPECT_EQ(read(out_), 9123);
  CUDA_OK(cudaGraphExecDestroy(outer));
}

TEST_F(HostGraph, AnEmptyGraphKeepsTheOrder) {
  begin();
  const cudaGraphExec_t exec = end();
  EXPECT_EQ(nodes_, 0u);
  add_digit(stream_, out_, 1);
  CUDA_OK(cudaGraphLaunch(exec, stream_));
  add_digit(stream_, out_, 2);
  CUDA_OK(cudaStreamSynchronize(stream_));
  EXPECT_EQ(read(out_), 12);
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_ERROR(cudaGraphLaunch(exec, stream_), cudaErrorInvalidResourceHandle);
  CUDA_ERROR(cudaGraphExecDestroy(exec), cudaErrorInvalidResourceHandle);
}

TEST_F(HostGraph, AnEventThatIsAwaitedTwiceIsOneDependency) {
  const cudaStream_t fork = make_stream();
  begin();
  add_digit(stream_, out_, 1);
  CUDA_OK(cudaEventRecord(event_, stream_));
  for (int i = 0; i < 2; ++i) CUDA_OK(cudaStreamWaitEvent(fork, event_));
  add_digit(fork, out_, 2);
  CUDA_OK(cudaEventRecord(event_, fork));
  for (int i = 0; i < 2; ++i) CUDA_OK(cudaStreamWaitEvent(stream_, event_));
  cudaGraph_t graph = nullptr;
  CUDA_OK(cudaStreamEndCapture(stream_, &graph));
  size_t edges = 0;
  CUDA_OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  EXPECT_EQ(edges, 1u);
  CUDA_OK(cudaGraphDestroy(graph));
  CUDA_OK(cudaStreamDestroy(fork));
}

TEST_F(HostGraph, UnjoinedWorkIsRefused) {
  const cudaStream_t fork = make_stream();
  begin();
  CUDA_OK(cudaEventRecord(event_, stream_));
  CUDA_OK(cudaStreamWaitEvent(fork, event_));
  add_digit(fork, out_, 1);
  add_digit(stream_, out_ + 1, 1);
  cudaGraph_t graph = nullptr;
  CUDA_ERROR(cudaStreamEndCapture(fork, &graph), cudaErrorStreamCaptureUnmatched);
  CUDA_ERROR(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(graph, nullptr);
  add_digit(fork, out_, 4);  // both streams work again
  CUDA_OK(cudaStreamSynchronize(fork));
  EXPECT_EQ(read(out_), 4);
  CUDA_OK(cudaStreamDestroy(fork));
}

TEST_F(HostGraph, SynchronisingInvalidatesACapture) {
  begin();
  CUDA_ERROR(cudaStreamSynchronize(stream_), cudaErrorStreamCaptureUnsupported);
  end_invalidated();
  begin();
  CUDA_ERROR(cudaStreamQuery(stream_), cudaErrorStreamCaptureUnsupported);
  end_invalidated();
  begin();
  CUDA_ERROR(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
  end_invalidated();
  begin();
  void* p = nullptr;
  CUDA_ERROR(cudaMalloc(&p, 4), cudaErrorStreamCaptureUnsupported);
  end_invalidated();
  begin();
  CUDA_ERROR(cudaFree(out_), cudaErrorStreamCaptureUnsupported);
  end_invalidated();
  int host = 0;
  begin();
  CUDA_ERROR(cudaMemcpy(&host, out_, 4, cudaMemcpyDeviceToHost), cudaErrorStreamCaptureUnsupported);
  end_invalidated();
  begin();
  CUDA_ERROR(cudaMemcpyPeerAsync(out_, 0, out_ + 1, 0, 4, stream_), cudaErrorStreamCaptureUnsupported);
  end_invalidated();
}

// None of these can be recorded, and none is done instead.
TEST_F(HostGraph, ACapturedStreamTakesNoUploadAndNoMemory) {
  begin();
  add_digit(stream_, out_, 1);
  cudaGraph_t graph = nullptr;
  CUDA_OK(cudaStreamEndCapture(stream_, &graph));
  cudaGraphExec_t exec = nullptr;
  CUDA_OK(cudaGraphInstantiate(&exec, graph));
  void* memory = nullptr;
  CUDA_OK(cudaMallocAsync(&memory, 4, stream_));
  CUDA_OK(cudaStreamSynchronize(stream_));
  const std::function<cudaError_t()> calls[] = {
      [&] { return cudaGraphUpload(exec, stream_); },
      [&] {
        void* more = nullptr;
        return cudaMallocAsync(&more, 4, stream_);
      },
      [&] { return cudaFreeAsync(memory, stream_); },
  };
  for (const std::function<cudaError_t()>& call : calls) {
    begin();
    CUDA_ERROR(call(), cudaErrorStreamCaptureUnsupported);
    cudaGraph_t rest = nullptr;
    static_cast<void>(cudaStreamEndCapture(stream_, &rest));
    if (rest) CUDA_OK(cudaGraphDestroy(rest));
    static_cast<void>(cudaGetLastError());
    EXPECT_EQ(call(), cudaSuccess) << "without a capture";
  }
  CUDA_OK(cudaStreamSynchronize(stream_));
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaGraphDestroy(graph));
}

TEST_F(HostGraph, TheModeDecidesWhichThreadsMayCallUnsafeFunctions) {
  const auto elsewhere = [](cudaError_t expected) {
    std::thread([expected] {
      void* p = nullptr;
      EXPECT_EQ(cudaMalloc(&p, 4), expected);
      cudaFree(p);
    }).join();
  };
  begin(cudaStreamCaptureModeThreadLocal);
  elsewhere(cudaSuccess);
  CUDA_OK(cudaGraphExecDestroy(end()));
  begin(cudaStreamCaptureModeRelaxed);
  elsewhere(cudaSuccess);
  void* p = nullptr;
  CUDA_OK(cudaMalloc(&p, 4));
  CUDA_OK(cudaGraphExecDestroy(end()));
  CUDA_OK(cudaFree(p));
  begin(cudaStreamCaptureModeGlobal);
  auto mode = cudaStreamCaptureModeRelaxed;
  CUDA_OK(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, cudaStreamCaptureModeGlobal);
  CUDA_OK(cudaMalloc(&p, 4));
  CUDA_OK(cudaThreadExchangeStreamCaptureMode(&mode));
  elsewhere(cudaErrorStreamCaptureUnsupported);
  end_invalidated();
  CUDA_OK(cudaFree(p));
}

// The mode of the capture and that of the calling thread, in the thread that captures and in another one.
TEST_F(HostGraph, BothModesDecideWhoMayCallUnsafeFunctions) {
  constexpr cudaStreamCaptureMode kModes[] = {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                              cudaStreamCaptureModeRelaxed};
  for (const cudaStreamCaptureMode of_capture : kModes)
    for (const cudaStreamCaptureMode of_thread : kModes)
      for (const bool elsewhere : {false, true}) {
        SCOPED_TRACE(testing::Message() << of_capture << ", " << of_thread << ", " << elsewhere);
        const bool forbidden =
            elsewhere
                ? of_capture == cudaStreamCaptureModeGlobal && of_thread == cudaStreamCaptureModeGlobal
                : of_capture != cudaStreamCaptureModeRelaxed && of_thread != cudaStreamCaptureModeRelaxed;
        void* p = nullptr;
        const auto call = [&] {
          auto mode = of_thread;
          CUDA_OK(cudaThreadExchangeStreamCaptureMode(&mode));
          EXPECT_EQ(cudaMalloc(&p, 4), forbidden ? cudaErrorStreamCaptureUnsupported : cudaSuccess);
          CUDA_OK(cudaThreadExchangeStreamCaptureMode(&mode));
        };
        begin(of_capture);
        if (elsewhere)
          std::thread(call).join();
        else
          call();
        if (forbidden) {
          static_cast<void>(cudaGetLastError());
          end_invalidated();
        } else {
          CUDA_OK(cudaGraphExecDestroy(end()));
        }
        CUDA_OK(cudaFree(p));
      }
}

TEST_F(HostGraph, OnlyTheThreadThatBeganMayEnd) {
  begin();
  std::thread([this] {
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureWrongThread);
  }).join();
  CUDA_OK(cudaGraphExecDestroy(end()));
}

TEST_F(HostGraph, TheLegacyStreamCannotDependOnACapture) {
  CUDA_ERROR(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
  begin();
  const auto config = shape(1, 1);
  CUDA_OK(cudaLaunchKernelEx(&config, times_ten_plus, out_, 1));  // stream_ is non-blocking
  CUDA_OK(cudaGraphExecDestroy(end()));
  const cudaStream_t blocking = make_stream(cudaStreamDefault);
  CUDA_OK(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeGlobal));
  CUDA_ERROR(cudaLaunchKernelEx(&config, times_ten_plus, out_, 1), cudaErrorStreamCaptureImplicit);
  cudaGraph_t graph = nullptr;
  CUDA_ERROR(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);
  CUDA_OK(cudaStreamDestroy(blocking));
}

TEST_F(HostGraph, EventsAddStreamsToACapture) {
  const cudaStream_t other = make_stream();
  const cudaEvent_t outside = make_event();
  CUDA_OK(cudaEventRecord(outside, other));
  begin();
  CUDA_ERROR(cudaStreamWaitEvent(stream_, outside), cudaErrorStreamCaptureIsolation);
  end_invalidated();

  begin();
  CUDA_OK(cudaEventRecord(event_, stream_));
  CUDA_ERROR(cudaEventQuery(event_), cudaErrorCapturedEvent);
  CUDA_ERROR(cudaEventSynchronize(event_), cudaErrorCapturedEvent);
  CUDA_OK(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal));
  CUDA_ERROR(cudaStreamWaitEvent(other, event_), cudaErrorStreamCaptureMerge);
  cudaGraph_t graph = nullptr;
  CUDA_ERROR(cudaStreamEndCapture(other, &graph), cudaErrorStreamCaptureInvalidated);
  end_invalidated();
  CUDA_ERROR(cudaStreamWaitEvent(other, event_), cudaErrorCapturedEvent);  // the event's capture has ended
  CUDA_OK(cudaEventRecord(event_, other));
  CUDA_OK(cudaEventSynchronize(event_));
  CUDA_OK(cudaStreamDestroy(other));
  CUDA_OK(cudaEventDestroy(outside));
}

// Its operations take memory at the instantiation, and again at the upload or the first launch.
TEST_F(HostGraph, TakesMemoryOfTheDevice) {
  const auto free_bytes = [] {
    size_t free = 0, total = 0;
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    return free;
  };
  simt::set_graph_memory(1000);
  begin();
  for (int digit = 1; digit <= 2; ++digit) add_digit(stream_, out_, digit);
  CUDA_OK(cudaEventRecord(event_, stream_));
  const size_t before = free_bytes();
  const size_t total = simt::settings().memory_bytes;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr, other = nullptr;
  CUDA_OK(cudaStreamEndCapture(stream_, &graph));
  for (const bool upload : {true, false}) {
    CUDA_OK(cudaGraphInstantiate(&exec, graph));
    EXPECT_EQ(free_bytes(), before - 2000);
    if (upload) {
      CUDA_OK(cudaGraphUpload(exec, stream_));
      EXPECT_EQ(free_bytes(), before - 4000);
    }
    for (int i = 0; i < 2; ++i) CUDA_OK(cudaGraphLaunch(exec, stream_));
    EXPECT_EQ(free_bytes(), before - 4000);
    CUDA_OK(cudaGraphExecDestroy(exec));
    EXPECT_EQ(free_bytes(), before);
  }

  const auto leave = [&](size_t bytes) { CUDA_OK(simt::set_memory_limit(0, total - before + bytes)); };
  leave(1999);
  CUDA_ERROR(cudaGraphInstantiate(&exec, graph), cudaErrorMemoryAllocation);
  EXPECT_EQ(free_bytes(), 1999u);
  leave(3999);
  CUDA_OK(cudaGraphInstantiate(&exec, graph));
  CUDA_ERROR(cudaGraphUpload(exec, stream_), cudaErrorMemoryAllocation);
  CUDA_ERROR(cudaGraphLaunch(exec, stream_), cudaErrorMemoryAllocation);
  EXPECT_EQ(free_bytes(), 1999u);
  CUDA_ERROR(cudaGraphInstantiate(&other, graph), cudaErrorMemoryAllocation);
  leave(4000);
  CUDA_OK(cudaGraphLaunch(exec, stream_));
  EXPECT_EQ(free_bytes(), 0u);
  CUDA_OK(cudaStreamSynchronize(stream_));
  EXPECT_EQ(read(out_), 1212121212);  // five launches
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaGraphDestroy(graph));
  CUDA_OK(simt::set_memory_limit(0, total));
  simt::set_graph_memory(0);
}

TEST_F(HostGraph, RefusesBadCalls) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CUDA_ERROR(cudaStreamEndCapture(stream_, &graph), cudaErrorIllegalState);
  CUDA_ERROR(cudaStreamBeginCapture(stream_, static_cast<cudaStreamCaptureMode>(3)), cudaErrorInvalidValue);
  begin();
  CUDA_ERROR(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaErrorIllegalState);
  CUDA_OK(cudaGraphExecDestroy(end()));
  CUDA_ERROR(cudaGraphInstantiate(&exec, nullptr), cudaErrorInvalidResourceHandle);
  CUDA_ERROR(cudaGraphInstantiate(nullptr, nullptr), cudaErrorInvalidValue);
  CUDA_ERROR(cudaGraphLaunch(nullptr, stream_), cudaErrorInvalidResourceHandle);
  CUDA_ERROR(cudaGraphDestroy(nullptr), cudaErrorInvalidResourceHandle);
}

}  // namespace
}  // namespace simt_test
