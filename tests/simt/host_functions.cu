// Host functions: they run one at a time in the whole process, and must not call CUDA.
#include "host_support.h"

namespace simt_test {
namespace {

using HostFunctions = HostTest;

struct Pair {
  std::atomic<bool> first_runs{false}, second_runs{false}, first_saw_second{false};
  std::chrono::milliseconds patience{50};

  static void first(void* pair) {
    auto& p = *static_cast<Pair*>(pair);
    p.first_runs = true;
    const auto until = std::chrono::steady_clock::now() + p.patience;
    while (!p.second_runs && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    p.first_saw_second = p.second_runs.load();
  }
  static void second(void* pair) { static_cast<Pair*>(pair)->second_runs = true; }
};

// A defective program: one host function waits for another one of another stream. Without the time limit it
// would never end.
TEST_F(HostFunctions, AFunctionThatWaitsForAnotherNeverSeesIt) {
  const cudaStream_t one = make_stream(), other = make_stream();
  Pair pair;
  CUDA_OK(cudaLaunchHostFunc(one, Pair::first, &pair));
  while (!pair.first_runs) std::this_thread::yield();
  CUDA_OK(cudaLaunchHostFunc(other, Pair::second, &pair));
  CUDA_OK(cudaDeviceSynchronize());
  EXPECT_FALSE(pair.first_saw_second);
  EXPECT_TRUE(pair.second_runs);
  CUDA_OK(cudaStreamDestroy(one));
  CUDA_OK(cudaStreamDestroy(other));
}

// The same on two devices: they share one thread for host functions.
TEST_F(HostFunctions, OfAllDevicesRunOneAtATime) {
  const cudaStream_t one = make_stream();
  CUDA_OK(cudaSetDevice(1));
  const cudaStream_t other = make_stream();
  Pair pair;
  CUDA_OK(cudaLaunchHostFunc(one, Pair::first, &pair));
  while (!pair.first_runs) std::this_thread::yield();
  CUDA_OK(cudaLaunchHostFunc(other, Pair::second, &pair));
  CUDA_OK(cudaStreamSynchronize(other));
  EXPECT_FALSE(pair.first_saw_second);
  CUDA_OK(cudaStreamDestroy(one));
  CUDA_OK(cudaStreamDestroy(other));
}

// A correct program: the host supplies what the first host function waits for. With a seed, the function
// begins when the host queries its stream.
TEST_F(HostFunctions, AFunctionThatWaitsForTheHostEnds) {
  for (const auto seed :
       {std::optional<uint64_t>{}, std::optional<uint64_t>{1}, std::optional<uint64_t>{2}}) {
    simt::set_seed(seed);
    const cudaStream_t stream = make_stream(), other = make_stream();
    Pair pair;
    pair.patience = std::chrono::seconds(60);
    CUDA_OK(cudaLaunchHostFunc(stream, Pair::first, &pair));
    while (!pair.first_runs) EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
    CUDA_OK(cudaLaunchHostFunc(
        other, [](void*) {}, nullptr));
    EXPECT_EQ(cudaStreamQuery(other), cudaErrorNotReady) << "it runs behind the first";
    Pair::second(&pair);
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT_TRUE(pair.first_saw_second);
    CUDA_OK(cudaStreamDestroy(stream));
    CUDA_OK(cudaStreamDestroy(other));
  }
}

struct Calls {
  cudaStream_t stream = nullptr;
  void* memory = nullptr;
  int count = -1;
  std::vector<cudaError_t> answers;

  static void make(void* calls) {
    auto& c = *static_cast<Calls*>(calls);
    void* unused = nullptr;
    const auto config = shape(1, 1, c.stream);
    c.answers = {cudaGetDeviceCount(&c.count),
                 cudaSetDevice(1),
                 cudaMalloc(&unused, 16),
                 cudaMemset(c.memory, 0, 4),
                 cudaFree(c.memory),
                 cudaStreamSynchronize(c.stream),
                 cudaStreamQuery(c.stream),
                 cudaDeviceSynchronize(),
                 cudaLaunchHostFunc(c.stream, make, calls),
                 cudaLaunchKernelEx(
                     &config, +[]() {}),
                 cudaGetLastError(),
                 cudaPeekAtLastError()};
  }
};

TEST_F(HostFunctions, MayNotCallCuda) {
  for (const auto seed : {std::optional<uint64_t>{}, std::optional<uint64_t>{3}}) {
    simt::set_seed(seed);
    Calls calls;
    calls.stream = make_stream();
    calls.memory = allocate<int>(1);
    CUDA_OK(cudaMemset(calls.memory, 1, 4));
    CUDA_OK(cudaLaunchHostFunc(calls.stream, Calls::make, &calls));
    CUDA_OK(cudaStreamSynchronize(calls.stream));
    EXPECT_EQ(calls.answers, std::vector<cudaError_t>(12, cudaErrorNotPermitted));
    EXPECT_EQ(calls.count, -1);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "the error is the function's own";
    int device = -1;
    CUDA_OK(cudaGetDevice(&device));
    EXPECT_EQ(device, 0);
    EXPECT_EQ(read(static_cast<int*>(calls.memory)), 0x01010101);
    CUDA_OK(cudaFree(calls.memory));
    CUDA_OK(cudaStreamDestroy(calls.stream));
  }
}

}  // namespace
}  // namespace simt_test
