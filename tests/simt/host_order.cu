// Streams and events: what they order, what they leave unordered, and the effects of missing ordering.
// Above 400 lines because each kind of work is tested against each kind of wait.
#include "host_support.h"

#include <future>
#include <set>

namespace simt_test {
namespace {

__global__ void store(int* out, int value) { *out = value; }
__global__ void exchange(int* out, int value) { atomicExch(out, value); }
__global__ void copy_value(int* out, const int* in) { *out = *in; }
__global__ void times_ten_plus(int* out, int digit) { *out = *out * 10 + digit; }

__global__ void take_five_milliseconds() {
#ifdef __CUDACC__
  for (int i = 0; i < 5; ++i) __nanosleep(1'000'000);
#else
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
#endif
}

// The kernels are loaded in advance: a first launch would wait for the work that a test holds up.
class HostOrder : public HostTest {
 protected:
  void SetUp() override {
    HostTest::SetUp();
    cudaFuncAttributes attributes;
    CUDA_OK(cudaFuncGetAttributes(&attributes, store));
    CUDA_OK(cudaFuncGetAttributes(&attributes, copy_value));
    CUDA_OK(cudaFuncGetAttributes(&attributes, times_ten_plus));
    CUDA_OK(cudaFuncGetAttributes(&attributes, take_five_milliseconds));
  }
};

TEST_F(HostOrder, AStreamRunsInOrder) {
  for (const auto seed :
       {std::optional<uint64_t>{}, std::optional<uint64_t>{1}, std::optional<uint64_t>{2}}) {
    simt::set_seed(seed);
    const cudaStream_t stream = make_stream();
    int* out = allocate<int>(1);
    CUDA_OK(cudaMemsetAsync(out, 0, sizeof(int), stream));
    const auto config = shape(1, 1, stream);
    for (int digit = 1; digit <= 9; ++digit) CUDA_OK(cudaLaunchKernelEx(&config, times_ten_plus, out, digit));
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(read(out), 123456789);
    CUDA_OK(cudaStreamDestroy(stream));
    CUDA_OK(cudaFree(out));
  }
}

// One stream writes, the other reads, with or without an event between them.
int read_after_write(uint64_t seed, bool ordered) {
  simt::set_seed({});
  int* data = allocate<int>(2);
  EXPECT_EQ(cudaMemset(data, 0, 2 * sizeof(int)), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  simt::set_seed(seed);
  const cudaStream_t writer = make_stream(), reader = make_stream();
  const cudaEvent_t written = make_event();
  auto config = shape(1, 1, writer);
  EXPECT_EQ(cudaLaunchKernelEx(&config, store, data, 1), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(written, writer), cudaSuccess);
  if (ordered) {
    EXPECT_EQ(cudaStreamWaitEvent(reader, written), cudaSuccess);
  }
  config.stream = reader;
  EXPECT_EQ(cudaLaunchKernelEx(&config, copy_value, data + 1, data), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const int seen = read(data + 1);
  EXPECT_EQ(cudaEventDestroy(written), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(writer), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(reader), cudaSuccess);
  EXPECT_EQ(cudaFree(data), cudaSuccess);
  return seen;
}

TEST_F(HostOrder, SomeSeedDetectsAMissingEvent) {
  NOT_UNDER_CHECK();
  std::vector<int> seen, again;
  for (uint64_t seed = 0; seed < 32; ++seed) seen.push_back(read_after_write(seed, false));
  for (uint64_t seed = 0; seed < 32; ++seed) again.push_back(read_after_write(seed, false));
  EXPECT_EQ(std::set<int>(seen.begin(), seen.end()), (std::set<int>{0, 1}));
  EXPECT_EQ(seen, again) << "a seed must repeat its order";
}

TEST_F(HostOrder, NoSeedBreaksACorrectProgram) {
  for (uint64_t seed = 0; seed < 64; ++seed) ASSERT_EQ(read_after_write(seed, true), 1) << "seed " << seed;
}

TEST_F(HostOrder, EventsOrderAcrossDevices) {
  for (const auto seed :
       {std::optional<uint64_t>{}, std::optional<uint64_t>{1}, std::optional<uint64_t>{2}}) {
    simt::set_seed(seed);
    int* values[3];
    cudaStream_t streams[3];
    cudaEvent_t events[3];
    for (int d = 0; d < 3; ++d) {
      CUDA_OK(cudaSetDevice(d));
      values[d] = allocate<int>(1);
      streams[d] = make_stream();
      events[d] = make_event();
    }
    // Device 0 computes a value, and each next device appends a digit to the value that it receives.
    for (int d = 0; d < 3; ++d) {
      CUDA_OK(cudaSetDevice(d));
      const auto config = shape(1, 1, streams[d]);
      if (d == 0) CUDA_OK(cudaLaunchKernelEx(&config, store, values[0], 7));
      if (d > 0) {
        CUDA_OK(cudaStreamWaitEvent(streams[d], events[d - 1]));
        CUDA_OK(cudaMemcpyPeerAsync(values[d], d, values[d - 1], d - 1, sizeof(int), streams[d]));
        CUDA_OK(cudaLaunchKernelEx(&config, times_ten_plus, values[d], d));
      }
      CUDA_OK(cudaEventRecord(events[d], streams[d]));
    }
    CUDA_OK(cudaEventSynchronize(events[2]));
    EXPECT_EQ(read(values[2]), 712);
    for (int d = 0; d < 3; ++d) {
      CUDA_OK(cudaStreamDestroy(streams[d]));
      CUDA_OK(cudaEventDestroy(events[d]));
      CUDA_OK(cudaFree(values[d]));
    }
  }
}

TEST_F(HostOrder, AWaitIsForTheLatestRecordBeforeIt) {
  const cudaStream_t first = make_stream(), second = make_stream();
  const cudaEvent_t event = make_event();
  CUDA_OK(cudaStreamWaitEvent(second, event));  // the event was never recorded: no wait
  CUDA_OK(cudaEventQuery(event));
  CUDA_OK(cudaEventRecord(event, first));
  CUDA_OK(cudaStreamWaitEvent(second, event));
  Gate gate;
  gate.hold(first);
  CUDA_OK(cudaEventRecord(event, first));  // a later record does not delay the earlier wait
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  CUDA_OK(cudaStreamSynchronize(second));
  EXPECT_EQ(cudaStreamQuery(first), cudaErrorNotReady);
  CUDA_OK(cudaEventDestroy(event));  // while it is pending
  gate.open();
  CUDA_OK(cudaStreamSynchronize(first));
  CUDA_OK(cudaStreamQuery(first));
  cudaGetLastError();
  CUDA_OK(cudaStreamDestroy(first));
  CUDA_OK(cudaStreamDestroy(second));
}

TEST_F(HostOrder, TheLegacyStreamWaitsForBlockingStreamsOnly) {
  const cudaStream_t blocking = make_stream(cudaStreamDefault), other = make_stream(cudaStreamNonBlocking);
  int* out = allocate<int>(3);
  CUDA_OK(cudaMemset(out, 0, 3 * sizeof(int)));
  CUDA_OK(cudaDeviceSynchronize());
  {
    Gate gate;
    gate.hold(blocking);
    const auto config = shape(1, 1);
    CUDA_OK(cudaLaunchKernelEx(&config, store, out, 1));  // behind the gate
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
    EXPECT_EQ(cudaStreamQuery(cudaStreamLegacy), cudaErrorNotReady);
    CUDA_OK(cudaStreamQuery(other));
    auto unordered = shape(1, 1, other);
    CUDA_OK(cudaLaunchKernelEx(&unordered, store, out + 1, 2));
    CUDA_OK(cudaStreamSynchronize(other));  // does not wait for the legacy stream
    auto ordered = shape(1, 1, blocking);
    CUDA_OK(cudaLaunchKernelEx(&ordered, copy_value, out + 2, out));
    gate.open();
    CUDA_OK(cudaStreamSynchronize(blocking));
  }
  EXPECT_EQ(read(out), 1);
  EXPECT_EQ(read(out + 1), 2);
  EXPECT_EQ(read(out + 2), 1);
  {
    Gate gate;
    gate.hold(other);
    CUDA_OK(cudaStreamSynchronize(nullptr));  // does not wait for a non-blocking stream
    gate.open();
    CUDA_OK(cudaDeviceSynchronize());
  }
  cudaGetLastError();
  CUDA_OK(cudaStreamDestroy(blocking));
  CUDA_OK(cudaStreamDestroy(other));
  CUDA_OK(cudaFree(out));
}

TEST_F(HostOrder, BlockingStreamsAndTheLegacyStreamWaitForEachOther) {
  const cudaStream_t first = make_stream(cudaStreamDefault), second = make_stream(cudaStreamDefault);
  int* out = allocate<int>(1);
  for (uint64_t seed = 0; seed < 32; ++seed) {
    simt::set_seed(seed);
    CUDA_OK(cudaMemset(out, 0, sizeof(int)));
    int digit = 0;
    for (const cudaStream_t stream : {first, cudaStream_t{}, second, cudaStream_t{}, first}) {
      const auto config = shape(1, 1, stream);
      CUDA_OK(cudaLaunchKernelEx(&config, times_ten_plus, out, ++digit));
    }
    CUDA_OK(cudaDeviceSynchronize());
    ASSERT_EQ(read(out), 12345) << "seed " << seed;
  }
  CUDA_OK(cudaFree(out));
  CUDA_OK(cudaStreamDestroy(first));
  CUDA_OK(cudaStreamDestroy(second));
}

TEST_F(HostOrder, HostFunctionsRunInTheirStream) {
  for (const auto seed : {std::optional<uint64_t>{}, std::optional<uint64_t>{3}}) {
    simt::set_seed(seed);
    const cudaStream_t stream = make_stream();
    struct Check {
      int* pinned;
      int seen = 0;
    } check;
    CUDA_OK(cudaMallocHost(&check.pinned, sizeof(int)));
    const auto config = shape(1, 1, stream);
    CUDA_OK(cudaLaunchKernelEx(&config, store, check.pinned, 41));
    CUDA_OK(cudaLaunchHostFunc(
        stream,
        [](void* p) {
          auto& c = *static_cast<Check*>(p);
          c.seen = ++*c.pinned;
        },
        &check));
    CUDA_OK(cudaLaunchKernelEx(&config, times_ten_plus, check.pinned, 0));
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(check.seen, 42);
    EXPECT_EQ(*check.pinned, 420);
    CUDA_OK(cudaFreeHost(check.pinned));
    CUDA_OK(cudaStreamDestroy(stream));
  }
  CUDA_ERROR(cudaLaunchHostFunc(nullptr, nullptr, nullptr), cudaErrorInvalidValue);
}

// The waiting thread most likely runs the kernel itself, while all workers sleep. One of them must be woken
// for the host function, which the waiting thread does not run.
TEST_F(HostOrder, AHostFunctionRunsEvenIfAllWorkersSleep) {
  const cudaStream_t stream = make_stream();
  int* const device = allocate<int>(1);
  const auto config = shape(1, 1, stream);
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    auto waiter = std::async(std::launch::async, [&] {
      EXPECT_EQ(cudaLaunchKernelEx(&config, take_five_milliseconds), cudaSuccess);
      EXPECT_EQ(cudaLaunchHostFunc(
                    stream, [](void*) {}, nullptr),
                cudaSuccess);
      return cudaStreamSynchronize(stream);
    });
    const bool done = waiter.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
    if (!done) CUDA_OK(cudaMemsetAsync(device, 0, sizeof(int), nullptr));  // wakes a worker
    CUDA_OK(waiter.get());
    ASSERT_TRUE(done) << "attempt " << i;
  }
  CUDA_OK(cudaFree(device));
  CUDA_OK(cudaStreamDestroy(stream));
}

// The same for work that follows the kernel that the host waits for: it must run while the host only queries
// it.
TEST_F(HostOrder, WorkAfterAnAwaitedEventRunsEvenIfAllWorkersSleep) {
  const cudaStream_t stream = make_stream();
  const cudaEvent_t event = make_event();
  const auto config = shape(1, 1, stream);
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CUDA_OK(cudaLaunchKernelEx(&config, take_five_milliseconds));
    CUDA_OK(cudaEventRecord(event, stream));
    CUDA_OK(cudaLaunchKernelEx(&config, take_five_milliseconds));
    CUDA_OK(cudaEventSynchronize(event));
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (cudaStreamQuery(stream) == cudaErrorNotReady && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(cudaStreamQuery(stream), cudaSuccess) << "attempt " << i;
  }
  CUDA_OK(cudaEventDestroy(event));
  CUDA_OK(cudaStreamDestroy(stream));
}

TEST_F(HostOrder, PollingMakesProgressWithASeed) {
  simt::set_seed(4);
  const cudaStream_t stream = make_stream();
  const cudaEvent_t event = make_event();
  int* out = allocate<int>(1);
  const auto config = shape(1, 1, stream);
  for (int i = 0; i < 5; ++i) CUDA_OK(cudaLaunchKernelEx(&config, store, out, i));
  CUDA_OK(cudaEventRecord(event, stream));
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady) << "nothing runs before the host waits";
  int polls = 0;
  while (cudaEventQuery(event) == cudaErrorNotReady) ASSERT_LT(++polls, 100);
  EXPECT_EQ(read(out), 4);
  cudaGetLastError();
  CUDA_OK(cudaFree(out));
  CUDA_OK(cudaEventDestroy(event));
  CUDA_OK(cudaStreamDestroy(stream));
}

// The host waits for a value, as it would for a message, and calls nothing of CUDA.
TEST_F(HostOrder, WorkRunsWithASeedIfTheHostCallsNothing) {
  simt::set_seed(5);
  int* pinned = nullptr;
  CUDA_OK(cudaMallocHost(&pinned, sizeof(int)));
  *pinned = 0;
  const auto config = shape(1, 1);
  CUDA_OK(cudaLaunchKernelEx(&config, exchange, pinned, 41));
  CUDA_OK(cudaLaunchHostFunc(
      nullptr, [](void* p) { __atomic_add_fetch(static_cast<int*>(p), 1, __ATOMIC_RELEASE); }, pinned));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  const auto value = [&] { return __atomic_load_n(pinned, __ATOMIC_ACQUIRE); };
  while (value() != 42 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_EQ(value(), 42);
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaFreeHost(pinned));
}

TEST_F(HostOrder, ElapsedTimeIsTheTimeOfTheWorkBetween) {
  const cudaStream_t stream = make_stream();
  const cudaEvent_t start = make_event(cudaEventDefault), end = make_event(cudaEventDefault);
  const cudaEvent_t untimed = make_event();
  float milliseconds = -1;
  CUDA_ERROR(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorInvalidResourceHandle);
  CUDA_OK(cudaEventRecord(start, stream));
  CUDA_OK(cudaLaunchHostFunc(
      stream, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }, nullptr));
  CUDA_OK(cudaEventRecord(end, stream));
  CUDA_ERROR(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorNotReady);
  CUDA_OK(cudaEventSynchronize(end));
  CUDA_OK(cudaEventElapsedTime(&milliseconds, start, end));
  EXPECT_GE(milliseconds, 19.0f);
  EXPECT_LT(milliseconds, 2000.0f);
  CUDA_OK(cudaEventRecord(untimed, stream));
  CUDA_OK(cudaStreamSynchronize(stream));
  CUDA_ERROR(cudaEventElapsedTime(&milliseconds, start, untimed), cudaErrorInvalidResourceHandle);
  CUDA_OK(cudaSetDevice(1));
  const cudaEvent_t of_other_device = make_event(cudaEventDefault);
  CUDA_OK(cudaEventRecord(of_other_device, nullptr));
  CUDA_OK(cudaEventSynchronize(of_other_device));
  CUDA_ERROR(cudaEventElapsedTime(&milliseconds, start, of_other_device), cudaErrorInvalidResourceHandle);
  CUDA_OK(cudaEventDestroy(of_other_device));
  CUDA_OK(cudaSetDevice(0));
  CUDA_OK(cudaEventDestroy(start));
  CUDA_OK(cudaEventDestroy(end));
  CUDA_OK(cudaEventDestroy(untimed));
  CUDA_OK(cudaStreamDestroy(stream));
}

TEST_F(HostOrder, DestroyedStreamsFinishTheirWork) {
  int* out = allocate<int>(1);
  const cudaStream_t stream = make_stream(cudaStreamDefault);
  Gate gate;
  gate.hold(stream);
  auto config = shape(1, 1, stream);
  CUDA_OK(cudaLaunchKernelEx(&config, store, out, 5));
  CUDA_OK(cudaStreamDestroy(stream));
  CUDA_ERROR(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
  config.stream = nullptr;
  CUDA_OK(cudaLaunchKernelEx(&config, times_ten_plus, out, 6));
  gate.open();
  CUDA_OK(cudaDeviceSynchronize());
  EXPECT_EQ(read(out), 56);
  CUDA_OK(cudaFree(out));
}

TEST_F(HostOrder, FreeWaitsForTheDevice) {
  const cudaStream_t stream = make_stream();
  int* out = allocate<int>(1);
  Gate gate;
  gate.hold(stream);
  const auto config = shape(1, 1, stream);
  CUDA_OK(cudaLaunchKernelEx(&config, store, out, 5));
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    gate.open();
  });
  CUDA_OK(cudaFree(out));
  CUDA_OK(cudaStreamQuery(stream));
  opener.join();
  CUDA_OK(cudaStreamDestroy(stream));
}

// The default stream of one thread does not wait for that of another; the legacy one waits for both.
TEST_F(HostOrder, EachThreadHasADefaultStream) {
  int* out = allocate<int>(2);
  CUDA_OK(cudaMemset(out, 0, 2 * sizeof(int)));
  CUDA_OK(cudaDeviceSynchronize());
  Gate gate;
  gate.hold(cudaStreamPerThread);
  const auto config = shape(1, 1, cudaStreamPerThread);
  CUDA_OK(cudaLaunchKernelEx(&config, store, out, 1));
  EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
  std::thread([&] {
    CUDA_OK(cudaLaunchKernelEx(&config, store, out + 1, 2));
    CUDA_OK(cudaStreamSynchronize(cudaStreamPerThread));
  }).join();
  EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(cudaStreamLegacy), cudaErrorNotReady);
  gate.open();
  EXPECT_EQ(read(out), 1);
  EXPECT_EQ(read(out + 1), 2);
  CUDA_OK(cudaStreamQuery(cudaStreamPerThread));
  CUDA_OK(cudaFree(out));
}

TEST_F(HostOrder, ADefaultStreamIsNewAfterAReset) {
  int* out = allocate<int>(1);
  const auto config = shape(1, 1, cudaStreamPerThread);
  CUDA_OK(cudaLaunchKernelEx(&config, store, out, 1));
  CUDA_OK(cudaDeviceReset());
  out = allocate<int>(1);
  CUDA_OK(cudaLaunchKernelEx(&config, store, out, 3));
  CUDA_OK(cudaStreamSynchronize(cudaStreamPerThread));
  EXPECT_EQ(read(out), 3);
  CUDA_OK(cudaFree(out));
}

TEST_F(HostOrder, RefusesBadHandlesAndFlags) {
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  CUDA_ERROR(cudaStreamCreate(nullptr), cudaErrorInvalidValue);
  CUDA_ERROR(cudaStreamCreateWithFlags(&stream, 8), cudaErrorInvalidValue);
  CUDA_ERROR(cudaEventCreateWithFlags(&event, 64), cudaErrorInvalidValue);
  CUDA_ERROR(cudaEventCreateWithFlags(&event, cudaEventInterprocess), cudaErrorNotSupported);
  CUDA_ERROR(cudaStreamDestroy(cudaStreamPerThread), cudaErrorInvalidResourceHandle);
  CUDA_ERROR(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle);
  stream = make_stream();
  event = make_event();
  CUDA_ERROR(cudaStreamWaitEvent(stream, event, 5), cudaErrorInvalidValue);
  CUDA_ERROR(cudaStreamSynchronize(reinterpret_cast<cudaStream_t>(event)), cudaErrorInvalidResourceHandle);
  int device = -1;
  unsigned flags = 99;
  CUDA_OK(cudaStreamGetDevice(stream, &device));
  EXPECT_EQ(device, 0);
  CUDA_OK(cudaStreamGetFlags(stream, &flags));
  EXPECT_EQ(flags, unsigned{cudaStreamNonBlocking});
  CUDA_OK(cudaSetDevice(1));
  const cudaStream_t elsewhere = make_stream();
  CUDA_OK(cudaStreamGetDevice(elsewhere, &device));
  EXPECT_EQ(device, 1);
  CUDA_OK(cudaStreamGetDevice(stream, &device));  // not the current one
  EXPECT_EQ(device, 0);
  CUDA_ERROR(cudaEventRecord(event, elsewhere), cudaErrorInvalidResourceHandle);
  CUDA_OK(cudaEventDestroy(event));
  CUDA_ERROR(cudaEventDestroy(event), cudaErrorInvalidResourceHandle);
  CUDA_ERROR(cudaEventRecord(event, stream), cudaErrorInvalidResourceHandle);
  CUDA_ERROR(cudaEventSynchronize(event), cudaErrorInvalidResourceHandle);
  CUDA_ERROR(cudaStreamWaitEvent(stream, event), cudaErrorInvalidResourceHandle);
  CUDA_OK(cudaStreamDestroy(stream));
  CUDA_OK(cudaStreamDestroy(elsewhere));
}

TEST_F(HostOrder, ManyThreadsShareTheRuntime) {
  for (const auto seed : {std::optional<uint64_t>{}, std::optional<uint64_t>{6}}) {
    simt::set_seed(seed);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([t] {
        CUDA_OK(cudaSetDevice(t % 2));
        const cudaStream_t stream = make_stream();
        int* out = allocate<int>(1);
        const auto config = shape(1, 1, stream);
        for (int round = 0; round < 50; ++round) {
          CUDA_OK(cudaMemsetAsync(out, 0, sizeof(int), stream));
          for (int digit = 1; digit <= 5; ++digit)
            CUDA_OK(cudaLaunchKernelEx(&config, times_ten_plus, out, digit));
          int* temporary = allocate<int>(64);
          CUDA_OK(cudaStreamSynchronize(stream));
          ASSERT_EQ(read(out), 12345);
          CUDA_OK(cudaFree(temporary));
        }
        CUDA_OK(cudaFree(out));
        CUDA_OK(cudaStreamDestroy(stream));
      });
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace simt_test
