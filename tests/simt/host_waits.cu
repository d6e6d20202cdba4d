// Waits that CUDA may add: for a kernel to be loaded, for space in a queue, for work that shares a hardware
// queue, for an allocation. Each defective program here waits for an action that its own host would take only
// afterwards. Above 400 lines because each wrong program stands beside the right one that it differs from.
#include <algorithm>
#include <functional>
#include <future>

#include "host_support.h"

namespace simt_test {
namespace {

__global__ void nothing() {}
__global__ void other() {}
__global__ void set(int* flag) { atomicExch(flag, 1); }
__global__ void store(int* out, int value) { *out = value; }
__global__ void add_one(int* out) { ++*out; }

using std::chrono::milliseconds;
using CudaCall = std::function<cudaError_t()>;

// A call on its own thread, which may block. If a test ends early, the destructor opens the gate before it
// joins the thread.
class Call {
 public:
  Call(Gate& gate, CudaCall call) : gate_(gate), answer_(std::async(std::launch::async, std::move(call))) {}
  ~Call() {
    if (answer_.valid()) gate_.open();
  }
  bool blocks() { return answer_.wait_for(milliseconds(50)) == std::future_status::timeout; }
  std::future_status wait_for_a_while() { return answer_.wait_for(std::chrono::seconds(10)); }
  cudaError_t get() { return answer_.get(); }

 private:
  Gate& gate_;
  std::future<cudaError_t> answer_;
};

cudaError_t launch(void (*kernel)(), cudaStream_t stream) {
  const auto config = shape(1, 1, stream);
  return cudaLaunchKernelEx(&config, kernel);
}

cudaError_t load(void (*kernel)()) {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, kernel);
}

bool runs_soon(cudaStream_t stream) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (cudaStreamQuery(stream) == cudaErrorNotReady && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(milliseconds(1));
  return cudaStreamQuery(stream) == cudaSuccess;
}

bool stays_pending(cudaStream_t stream) {
  std::this_thread::sleep_for(milliseconds(50));
  return cudaStreamQuery(stream) == cudaErrorNotReady;
}

// Resets devices 0 and 1 before every test: no kernel is loaded, and the first stream gets the first hardware
// queue.
class HostWaits : public HostTest {
 protected:
  void SetUp() override {
    HostTest::SetUp();
    reset();
    simt::set_lazy_loading(true);
    CUDA_OK(simt::set_queue_length(1024));
    CUDA_OK(simt::set_connections(8));
  }
  void TearDown() override {
    reset();
    simt::set_lazy_loading(before_.lazy_loading);
    simt::set_capture_loads(before_.capture_loads);
    simt::set_allocation_waits(before_.allocation_waits);
    simt::set_patience(before_.patience);
    CUDA_OK(simt::set_queue_length(before_.queue_length));
    CUDA_OK(simt::set_connections(before_.connections));
    HostTest::TearDown();
  }
  static void reset() {
    for (int device = 1; device >= 0; --device) {
      cudaSetDevice(device);
      cudaDeviceReset();
    }
  }

 private:
  const simt::Settings before_ = simt::settings();
};

using Loading = HostWaits;

// A defective program: the host opens the gate after a launch that waits for the work behind the gate.
TEST_F(Loading, TheFirstLaunchWaitsUntilTheDeviceIsIdle) {
  const cudaStream_t held = make_stream(), free = make_stream();
  Gate gate;
  gate.hold(held);
  Call first(gate, [&] { return launch(nothing, free); });
  EXPECT_TRUE(first.blocks());
  gate.open();
  CUDA_OK(first.get());
  CUDA_OK(cudaStreamSynchronize(free));
}

// A correct program: it loads the kernels first.
TEST_F(Loading, AKernelThatIsLoadedRunsBesideStuckWork) {
  const cudaStream_t held = make_stream(), free = make_stream();
  CUDA_OK(load(nothing));
  CUDA_OK(launch(other, free));  // a launch loads as well
  CUDA_OK(cudaStreamSynchronize(free));
  Gate gate;
  gate.hold(held);
  for (const auto kernel : {nothing, other}) {
    Call next(gate, [&] { return launch(kernel, free); });
    ASSERT_EQ(next.wait_for_a_while(), std::future_status::ready);
    CUDA_OK(next.get());
    EXPECT_TRUE(runs_soon(free));
    EXPECT_EQ(cudaStreamQuery(held), cudaErrorNotReady);
    cudaGetLastError();
  }
}

TEST_F(Loading, OtherCallsThatNeedTheKernelLoadItAndWait) {
  const std::vector<CudaCall> calls = {
      [] { return load(nothing); },
      [] { return cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 64); },
      [] {
        int blocks = 0;
        return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 32, 0);
      }};
  for (size_t i = 0; i < calls.size(); ++i) {
    reset();
    const cudaStream_t held = make_stream();
    Gate gate, again;
    gate.hold(held);
    Call first(gate, calls[i]);
    EXPECT_TRUE(first.blocks()) << i;
    gate.open();
    CUDA_OK(first.get());
    again.hold(held);
    Call second(again, calls[i]);
    EXPECT_EQ(second.wait_for_a_while(), std::future_status::ready) << i;
    CUDA_OK(second.get());
  }
}

TEST_F(Loading, EachDeviceLoadsForItself) {
  CUDA_OK(cudaSetDevice(1));
  const cudaStream_t there = make_stream();
  CUDA_OK(cudaSetDevice(0));
  const cudaStream_t here = make_stream();
  CUDA_OK(load(nothing));
  Gate gate;
  gate.hold(there);
  Call beside(gate, [&] { return launch(other, here); });
  EXPECT_EQ(beside.wait_for_a_while(), std::future_status::ready) << "device 0 is idle";
  CUDA_OK(beside.get());
  Call first(gate, [&] {
    cudaSetDevice(1);
    return launch(nothing, there);
  });
  EXPECT_TRUE(first.blocks()) << "device 0 has it, device 1 has not";
  gate.open();
  CUDA_OK(first.get());
}

TEST_F(Loading, ACapturedLaunchLoads) {
  const cudaStream_t held = make_stream(), captured = make_stream();
  Gate gate;
  gate.hold(held);
  CUDA_OK(cudaStreamBeginCapture(captured, cudaStreamCaptureModeRelaxed));
  Call first(gate, [&] { return launch(nothing, captured); });
  EXPECT_TRUE(first.blocks());
  gate.open();
  CUDA_OK(first.get());
  cudaGraph_t graph = nullptr;
  CUDA_OK(cudaStreamEndCapture(captured, &graph));
  size_t nodes = 0;
  CUDA_OK(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 1u);
  CUDA_OK(cudaGraphDestroy(graph));
}

class LoadingBeforeACapture : public HostWaits {
 protected:
  void SetUp() override {
    HostWaits::SetUp();
    simt::set_capture_loads(false);
    stream_ = make_stream();
  }
  // Ends the capture of stream_ and replays it.
  void replay() {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CUDA_OK(cudaStreamEndCapture(stream_, &graph));
    CUDA_OK(cudaGraphInstantiate(&exec, graph));
    CUDA_OK(cudaGraphLaunch(exec, stream_));
    CUDA_OK(cudaStreamSynchronize(stream_));
    CUDA_OK(cudaGraphExecDestroy(exec));
    CUDA_OK(cudaGraphDestroy(graph));
  }
  void expect_invalid() {
    cudaGraph_t graph = nullptr;
    CUDA_ERROR(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
  }
  void begin() { CUDA_OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed)); }

  cudaStream_t stream_ = nullptr;
};

// Defective programs: they load a kernel while they capture.
TEST_F(LoadingBeforeACapture, AFirstLaunchIsRefused) {
  begin();
  CUDA_ERROR(launch(nothing, stream_), cudaErrorStreamCaptureUnsupported);
  expect_invalid();
  begin();
  CUDA_ERROR(load(nothing), cudaErrorStreamCaptureUnsupported);
  expect_invalid();
}

TEST_F(LoadingBeforeACapture, AFirstLaunchIsRefusedInAnotherThread) {
  begin();
  std::thread([&] {
    CUDA_OK(load(other));  // this thread captures nothing
    CUDA_OK(launch(other, stream_));
    CUDA_ERROR(launch(nothing, stream_), cudaErrorStreamCaptureUnsupported);
  }).join();
  expect_invalid();
}

TEST_F(LoadingBeforeACapture, ALaunchOnAnotherDeviceDoesNotCount) {
  CUDA_OK(cudaSetDevice(1));
  CUDA_OK(load(nothing));
  CUDA_OK(cudaSetDevice(0));
  begin();
  CUDA_ERROR(launch(nothing, stream_), cudaErrorStreamCaptureUnsupported);
  expect_invalid();
}

// Correct programs: the kernel was launched or loaded before, or the context loaded it.
TEST_F(LoadingBeforeACapture, ALoadedKernelIsCaptured) {
  CUDA_OK(launch(nothing, stream_));
  CUDA_OK(load(other));
  begin();
  CUDA_OK(launch(nothing, stream_));
  CUDA_OK(launch(other, stream_));
  replay();
}

TEST_F(LoadingBeforeACapture, EagerLoadingIsEarlyEnough) {
  simt::set_lazy_loading(false);
  begin();
  CUDA_OK(launch(nothing, stream_));
  replay();
}

TEST_F(Loading, AResetUnloads) {
  CUDA_OK(load(nothing));
  CUDA_OK(cudaDeviceReset());
  const cudaStream_t held = make_stream();
  Gate gate;
  gate.hold(held);
  Call first(gate, [&] { return load(nothing); });
  EXPECT_TRUE(first.blocks());
}

TEST_F(Loading, EagerLoadingDoesNotWait) {
  simt::set_lazy_loading(false);
  const cudaStream_t held = make_stream(), free = make_stream();
  Gate gate;
  gate.hold(held);
  Call first(gate, [&] { return launch(nothing, free); });
  EXPECT_EQ(first.wait_for_a_while(), std::future_status::ready);
  CUDA_OK(first.get());
}

// With a seed, a load waits or does not wait. Otherwise the wait at every first launch would hide missing
// events.
TEST_F(Loading, TheSeedDecidesWhetherALoadWaits) {
  int waited = 0;
  const int seeds = 32;
  for (int seed = 0; seed < seeds; ++seed) {
    reset();
    simt::set_seed(static_cast<uint64_t>(seed));
    const cudaStream_t stream = make_stream(), free = make_stream();
    std::atomic<bool> ran{false};
    CUDA_OK(cudaLaunchHostFunc(
        stream, [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &ran));
    CUDA_OK(launch(nothing, free));
    waited += ran;
    CUDA_OK(cudaDeviceSynchronize());
  }
  EXPECT_GT(waited, 0);
  EXPECT_LT(waited, seeds);
}

class Queues : public HostWaits {
 protected:
  void SetUp() override {
    HostWaits::SetUp();
    CUDA_OK(load(nothing));
    stream_ = make_stream();
    side_ = make_stream();
    memory_ = allocate<int>(1);
    CUDA_OK(cudaMallocHost(&pinned_, sizeof(int)));
    CUDA_OK(cudaStreamBeginCapture(side_, cudaStreamCaptureModeRelaxed));
    for (int i = 0; i < 20; ++i) CUDA_OK(launch(nothing, side_));
    cudaGraph_t graph = nullptr;
    CUDA_OK(cudaStreamEndCapture(side_, &graph));
    CUDA_OK(cudaGraphInstantiate(&exec_, graph));
    CUDA_OK(cudaGraphDestroy(graph));
  }
  void TearDown() override {
    cudaGraphExecDestroy(exec_);
    cudaFreeHost(pinned_);
    HostWaits::TearDown();
  }

  // The operations of each kind, for the stream.
  std::vector<CudaCall> operations(cudaEvent_t pending, cudaEvent_t event) {
    return {
        [this] { return launch(nothing, stream_); },
        [this] { return cudaMemcpyAsync(memory_, pinned_, sizeof(int), cudaMemcpyDefault, stream_); },
        [this] { return cudaMemsetAsync(memory_, 0, sizeof(int), stream_); },
        [this] {
          return cudaLaunchHostFunc(
              stream_, [](void*) {}, nullptr);
        },
        [this, event] { return cudaEventRecord(event, stream_); },
        [this, pending] { return cudaStreamWaitEvent(stream_, pending); },
        [this] { return cudaGraphLaunch(exec_, stream_); },
    };
  }

  cudaStream_t stream_ = nullptr, side_ = nullptr;
  int *memory_ = nullptr, *pinned_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

// Behind pending work an asynchronous copy from pageable memory returns if the memory was staged: up to 64
// KiB, in one row. A longer one waits for its turn.
TEST_F(Queues, ACopyOfUpTo64KiBOfPageableMemoryReturns) {
  simt::set_late_copies(false);
  constexpr size_t kStaged = 64 << 10;
  std::vector<char> host(kStaged + 1, 7);
  char* const to = allocate<char>(kStaged + 1);
  const CudaCall whole_rows = [&] {
    return cudaMemcpy2DAsync(to, 64, host.data(), 64, 64, 2, cudaMemcpyDefault, stream_);
  };
  const auto copy = [&](size_t bytes) -> CudaCall {
    return [&, bytes] { return cudaMemcpyAsync(to, host.data(), bytes, cudaMemcpyHostToDevice, stream_); };
  };
  for (const auto& [call, returns] : {std::pair(copy(1), true),
                                      {copy(kStaged - 1), true},
                                      {copy(kStaged), true},
                                      {copy(kStaged + 1), false},
                                      {whole_rows, false}}) {
    Gate gate;
    gate.hold(stream_);
    Call made(gate, call);
    if (returns)
      EXPECT_EQ(made.wait_for_a_while(), std::future_status::ready);
    else
      EXPECT_TRUE(made.blocks());
    gate.open();
    CUDA_OK(made.get());
    CUDA_OK(cudaStreamSynchronize(stream_));
    EXPECT_EQ(read(to), 7);
  }
}

// A defective program: the host enqueues more than fits behind a gate that it opens only afterwards.
TEST_F(Queues, The1025thOperationBlocks) {
  Gate gate;
  gate.hold(stream_);
  for (int i = 1; i < 1024; ++i) CUDA_OK(launch(nothing, stream_));
  Call one_more(gate, [&] { return launch(nothing, stream_); });
  EXPECT_TRUE(one_more.blocks());
  CUDA_OK(launch(nothing, side_));
  EXPECT_TRUE(runs_soon(side_)) << "another stream has room";
  gate.open();
  CUDA_OK(one_more.get());
  CUDA_OK(cudaStreamSynchronize(stream_));
}

// A graph of 20 nodes counts as one operation, and so does a wait for an event. An operation of any kind can
// be the one that does not fit.
TEST_F(Queues, AnOperationOfAnyKindCountsOne) {
  const cudaEvent_t pending = make_event(), event = make_event();
  for (size_t last = 0; last < 7; ++last) {
    CUDA_OK(simt::set_queue_length(9));
    Gate gate;
    gate.hold(stream_);
    CUDA_OK(cudaEventRecord(pending, stream_));
    const auto all = operations(pending, event);
    ASSERT_EQ(all.size(), 7u);
    for (size_t i = 0; i < all.size(); ++i) {
      Call fits(gate, all[i]);
      ASSERT_EQ(fits.wait_for_a_while(), std::future_status::ready) << "kind " << i;
      CUDA_OK(fits.get());
    }
    Call one_more(gate, all[last]);
    EXPECT_TRUE(one_more.blocks()) << "kind " << last;
    gate.open();
    CUDA_OK(one_more.get());
    CUDA_OK(cudaStreamSynchronize(stream_));
  }
}

// As seen with driver 580: behind a kernel a host function takes the room of many, behind another of one.
TEST_F(Queues, AHostFunctionBehindAKernelCountsMore) {
  const auto host_function = [&] {
    return cudaLaunchHostFunc(
        stream_, [](void*) {}, nullptr);
  };
  CUDA_OK(simt::set_queue_length(128));
  Gate gate;
  gate.hold(stream_);
  const auto fits = [&](auto call) {
    Call made(gate, call);
    ASSERT_EQ(made.wait_for_a_while(), std::future_status::ready);
    CUDA_OK(made.get());
  };
  for (int i = 0; i < 20; ++i) fits(host_function);
  for (int i = 0; i < 27; ++i) {  // 4 each, with 21 of the gate and the host functions before them
    fits([&] { return launch(nothing, stream_); });
    fits(host_function);
  }
  Call one_more(gate, [&] { return launch(nothing, stream_); });
  EXPECT_TRUE(one_more.blocks());
  gate.open();
  CUDA_OK(one_more.get());
  CUDA_OK(cudaStreamSynchronize(stream_));
}

TEST_F(Queues, CompletedAndCapturedWorkTakesNoSpace) {
  CUDA_OK(simt::set_queue_length(2));
  const cudaEvent_t done = make_event();
  CUDA_OK(cudaEventRecord(done, side_));
  CUDA_OK(cudaStreamSynchronize(side_));
  Gate gate;
  gate.hold(stream_);
  CUDA_OK(launch(nothing, stream_));
  Call wait(gate, [&] { return cudaStreamWaitEvent(stream_, done); });
  EXPECT_EQ(wait.wait_for_a_while(), std::future_status::ready);
  CUDA_OK(wait.get());
  CUDA_OK(cudaStreamBeginCapture(side_, cudaStreamCaptureModeRelaxed));
  for (int i = 0; i < 10; ++i) {
    Call captured(gate, [&] { return launch(nothing, side_); });
    ASSERT_EQ(captured.wait_for_a_while(), std::future_status::ready);
    CUDA_OK(captured.get());
  }
  cudaGraph_t graph = nullptr;
  CUDA_OK(cudaStreamEndCapture(side_, &graph));
  CUDA_OK(cudaGraphDestroy(graph));
}

TEST_F(Queues, DestroyingAStreamReleasesBlockedCallers) {
  CUDA_OK(simt::set_queue_length(2));
  const cudaStream_t stream = make_stream();
  Gate gate;
  gate.hold(stream);
  CUDA_OK(launch(nothing, stream));
  Call one_more(gate, [&] { return launch(nothing, stream); });
  EXPECT_TRUE(one_more.blocks());
  CUDA_OK(cudaStreamDestroy(stream));
  gate.open();
  EXPECT_EQ(one_more.get(), cudaErrorInvalidResourceHandle);
}

// More operations than fit, also with a seed: the blocked host runs the work that makes space.
TEST_F(Queues, CorrectProgramsOfAnyLengthPass) {
  CUDA_OK(simt::set_queue_length(3));
  for (const auto seed :
       {std::optional<uint64_t>{}, std::optional<uint64_t>{1}, std::optional<uint64_t>{2}}) {
    simt::set_seed(seed);
    *pinned_ = 0;
    for (int i = 0; i < 100; ++i) {
      const auto config = shape(1, 1, stream_);
      CUDA_OK(cudaLaunchKernelEx(&config, add_one, pinned_));
      CUDA_OK(cudaGraphLaunch(exec_, stream_));
    }
    CUDA_OK(cudaStreamSynchronize(stream_));
    EXPECT_EQ(*pinned_, 100);
  }
}

TEST_F(Queues, LengthHasLimits) {
  for (const int bad : {-1, 0, simt::kLongestQueue + 1})
    EXPECT_EQ(simt::set_queue_length(bad), cudaErrorInvalidValue);
  for (const int bad : {-1, 0, simt::kMostConnections + 1})
    EXPECT_EQ(simt::set_connections(bad), cudaErrorInvalidValue);
  EXPECT_EQ(simt::settings().queue_length, 1024);
  EXPECT_EQ(simt::settings().connections, 8);
}

class Connections : public HostWaits {
 protected:
  void SetUp() override {
    HostWaits::SetUp();
    CUDA_OK(load(nothing));
  }
  // Streams in the order of their creation, over `queues` hardware queues.
  static std::vector<cudaStream_t> streams(int count, int queues) {
    EXPECT_EQ(simt::set_connections(queues), cudaSuccess);
    std::vector<cudaStream_t> made;
    for (int i = 0; i < count; ++i) made.push_back(make_stream());
    return made;
  }
};

// A defective program: a host function waits for a kernel of another stream, which is not guaranteed to run
// at the same time.
TEST_F(Connections, AWaitForAnotherStreamMayDeadlock) {
  struct Wait {
    int* flag = nullptr;
    std::atomic<bool> seen{false};
    milliseconds patience{};
  };
  CUDA_OK(load(nothing));
  for (const int queues : {1, 8}) {
    reset();
    Wait wait;
    wait.patience = milliseconds(queues == 1 ? 50 : 10'000);
    CUDA_OK(cudaMallocHost(&wait.flag, sizeof(int)));
    *wait.flag = 0;
    simt::set_lazy_loading(false);
    const auto two = streams(2, queues);
    CUDA_OK(cudaLaunchHostFunc(
        two[0],
        [](void* p) {
          auto& w = *static_cast<Wait*>(p);
          const auto until = std::chrono::steady_clock::now() + w.patience;
          while (!w.seen && std::chrono::steady_clock::now() < until)
            w.seen = __atomic_load_n(w.flag, __ATOMIC_ACQUIRE) == 1;
        },
        &wait));
    const auto config = shape(1, 1, two[1]);
    CUDA_OK(cudaLaunchKernelEx(&config, set, wait.flag));
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT_EQ(wait.seen, queues == 8);
    EXPECT_EQ(*wait.flag, 1);
    CUDA_OK(cudaFreeHost(wait.flag));
  }
}

// Round robin: of three streams on two queues, the first and the third share one.
TEST_F(Connections, AreAssignedRoundRobin) {
  const auto three = streams(3, 2);
  Gate gate;
  gate.hold(three[0]);
  CUDA_OK(launch(nothing, three[1]));
  CUDA_OK(launch(nothing, three[2]));
  CUDA_OK(launch(nothing, nullptr));  // the legacy stream has its own queue
  EXPECT_TRUE(runs_soon(three[1]));
  EXPECT_TRUE(runs_soon(nullptr));
  EXPECT_TRUE(stays_pending(three[2]));
  gate.open();
  CUDA_OK(cudaStreamSynchronize(three[2]));
}

TEST_F(Connections, BelongToADevice) {
  const auto here = streams(1, 1);
  CUDA_OK(cudaSetDevice(1));
  CUDA_OK(load(nothing));
  const auto there = streams(1, 1);
  CUDA_OK(cudaSetDevice(0));
  Gate gate;
  gate.hold(here[0]);
  CUDA_OK(cudaSetDevice(1));
  CUDA_OK(launch(nothing, there[0]));
  EXPECT_TRUE(runs_soon(there[0]));
}

// The second stream waits for the first. The fourth shares the second's queue, and therefore waits too.
TEST_F(Connections, AWaitForAnEventOccupiesTheQueue) {
  const auto four = streams(4, 2);
  const cudaEvent_t event = make_event();
  Gate gate;
  gate.hold(four[0]);
  CUDA_OK(cudaEventRecord(event, four[0]));
  CUDA_OK(launch(nothing, four[3]));
  EXPECT_TRUE(runs_soon(four[3]));
  CUDA_OK(cudaStreamWaitEvent(four[1], event));
  CUDA_OK(launch(nothing, four[3]));
  EXPECT_TRUE(stays_pending(four[3]));
  gate.open();
  CUDA_OK(cudaStreamSynchronize(four[3]));
}

TEST_F(Connections, AGraphOccupiesTheQueueOfItsLaunch) {
  const auto four = streams(4, 2);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CUDA_OK(cudaStreamBeginCapture(four[2], cudaStreamCaptureModeRelaxed));
  CUDA_OK(launch(nothing, four[2]));
  CUDA_OK(cudaStreamEndCapture(four[2], &graph));
  CUDA_OK(cudaGraphInstantiate(&exec, graph));
  Gate gate;
  gate.hold(four[0]);
  CUDA_OK(cudaGraphLaunch(exec, four[1]));
  EXPECT_TRUE(runs_soon(four[1])) << "where it was captured does not matter";
  const cudaEvent_t event = make_event();
  CUDA_OK(cudaEventRecord(event, four[0]));
  CUDA_OK(cudaStreamWaitEvent(four[1], event));
  CUDA_OK(cudaGraphLaunch(exec, four[1]));
  CUDA_OK(launch(nothing, four[3]));
  EXPECT_TRUE(stays_pending(four[3]));
  gate.open();
  CUDA_OK(cudaStreamSynchronize(four[3]));
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaGraphDestroy(graph));
}

// Of three streams on two queues, the last shares one with the first or with the second. Two streams that
// share a queue keep the order of submission. Two that do not share one lose it under some seed.
TEST_F(Connections, TheSeedAssignsThem) {
  NOT_UNDER_CHECK();
  int shared = 0;
  const int seeds = 24;
  for (int seed = 0; seed < seeds; ++seed) {
    reset();
    simt::set_lazy_loading(false);
    simt::set_seed(static_cast<uint64_t>(seed));
    const auto three = streams(3, 2);
    int* last = nullptr;
    CUDA_OK(cudaMallocHost(&last, sizeof(int)));
    bool in_order = true;
    for (int i = 0; i < 20; ++i) {
      *last = 0;
      for (const size_t stream : {0u, 2u}) {
        const auto config = shape(1, 1, three[stream]);
        CUDA_OK(cudaLaunchKernelEx(&config, store, last, static_cast<int>(stream)));
      }
      CUDA_OK(cudaDeviceSynchronize());
      in_order = in_order && *last == 2;
    }
    shared += in_order;
    CUDA_OK(cudaFreeHost(last));
  }
  EXPECT_GT(shared, 0);
  EXPECT_LT(shared, seeds);
}

using Allocation = HostWaits;

// A defective program: the host allocates memory, and only the host can open the gate.
TEST_F(Allocation, WaitsIfEnabled) {
  const std::vector<CudaCall> calls = {[] {
                                         void* memory = nullptr;
                                         return cudaMalloc(&memory, 16);
                                       },
                                       [] {
                                         void* memory = nullptr;
                                         return cudaHostAlloc(&memory, 16, cudaHostAllocDefault);
                                       }};
  for (const bool waits : {false, true})
    for (const bool elsewhere : {false, true})
      for (size_t i = 0; i < calls.size(); ++i) {
        simt::set_allocation_waits(waits);
        CUDA_OK(cudaSetDevice(elsewhere));
        const cudaStream_t held = make_stream();
        Gate gate;
        gate.hold(held);
        Call call(gate, calls[i]);  // on device 0
        EXPECT_EQ(call.blocks(), waits && (!elsewhere || i == 1)) << waits << elsewhere << i;
        gate.open();
        CUDA_OK(call.get());
        CUDA_OK(cudaStreamSynchronize(held));
      }
}

// Messages about long waits.
class Patience : public HostWaits {
 protected:
  std::string stderr_of(CudaCall call) {
    simt::set_patience(milliseconds(50));
    const cudaStream_t held = make_stream();
    testing::internal::CaptureStderr();
    {
      Gate gate;
      gate.hold(held);
      Call blocked(gate, [&] { return call(); });
      std::this_thread::sleep_for(milliseconds(300));
      gate.open();
      EXPECT_EQ(blocked.get(), cudaSuccess);
    }
    EXPECT_EQ(cudaStreamSynchronize(held), cudaSuccess);
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(Patience, ReportsALongWaitInOneLine) {
  int* memory = allocate<int>(1);
  int* pinned = nullptr;
  CUDA_OK(cudaMallocHost(&pinned, sizeof(int)));
  EXPECT_EQ(stderr_of([] { return cudaDeviceSynchronize(); }), "") << "that wait was asked for";
  EXPECT_EQ(stderr_of([] { return launch(nothing, nullptr); }),
            "simt: blocked for 0.05 s: kernel simt_test::(anonymous namespace)::nothing() must be loaded on "
            "device 0, "
            "which waits until the device is idle (cudaFuncGetAttributes loads it earlier)\n");
  EXPECT_EQ(stderr_of([&] { return cudaFree(memory); }),
            "simt: blocked for 0.05 s: cudaFree waits until device 0 is idle\n");
  EXPECT_EQ(stderr_of([&] { return cudaFreeHost(pinned); }),
            "simt: blocked for 0.05 s: cudaFreeHost waits until all devices are idle\n");
  simt::set_allocation_waits(true);
  EXPECT_EQ(stderr_of([&] { return cudaMalloc(&memory, 4); }),
            "simt: blocked for 0.05 s: cudaMalloc waits until device 0 is idle (SIMT_ALLOCATION_WAITS)\n");
  EXPECT_EQ(
      stderr_of([&] { return cudaMallocHost(&pinned, 4); }),
      "simt: blocked for 0.05 s: cudaHostAlloc waits until all devices are idle (SIMT_ALLOCATION_WAITS)\n");
}

TEST_F(Patience, NamesTheFullQueue) {
  simt::set_lazy_loading(false);
  CUDA_OK(simt::set_connections(1));  // the second stream then waits for the first
  CUDA_OK(simt::set_queue_length(1));
  int* const memory = allocate<int>(1);
  const cudaStream_t full = make_stream();
  EXPECT_EQ(stderr_of([&] {
              const cudaError_t first = launch(nothing, full);
              return first == cudaSuccess ? cudaMemsetAsync(memory, 0, 4, full) : first;
            }),
            "simt: blocked for 0.05 s: a fill needs room in its stream, of device 0, where 1 operation is "
            "unfinished (SIMT_QUEUE_LENGTH)\n");
}

}  // namespace
}  // namespace simt_test
