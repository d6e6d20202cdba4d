// Helpers for the tests of the executor's host part.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <simt/settings.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

// CUDA_OK: the call must succeed. CUDA_ERROR: it must return the error, which is then cleared.
#define CUDA_OK(call)               \
  do {                              \
    ASSERT_EQ((call), cudaSuccess); \
  } while (false)
#define CUDA_ERROR(call, error)             \
  do {                                      \
    EXPECT_EQ((call), (error));             \
    EXPECT_EQ(cudaGetLastError(), (error)); \
  } while (false)

// First in a test whose program is wrong on purpose, or starts the race detector itself.
#define NOT_UNDER_CHECK() \
  if (simt::settings().check) GTEST_SKIP() << "not with SIMT_CHECK=1"

namespace simt_test {

// These tests run on the executor and, built by nvcc, on the interpreter of PTX (tests/ptx). The executor
// checks the pointers among the arguments of a kernel, the interpreter each access.
#ifdef PTX_HOST_TEST
inline constexpr bool kInterpreted = true;
#else
inline constexpr bool kInterpreted = false;
#endif
// What a message about a bad pointer says: which argument it is, or what the kernel does.
inline const char* argument(const char* text) { return kInterpreted ? " of 4 bytes at 0x" : text; }

inline cudaLaunchConfig_t shape(unsigned grid, unsigned block, cudaStream_t stream = nullptr,
                                size_t shared = 0) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(grid);
  config.blockDim = dim3(block);
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  return config;
}

// Every test starts and ends on device 0, without a seed and without an error.
class HostTest : public testing::Test {
 protected:
  void SetUp() override { start_over(); }
  void TearDown() override { start_over(); }

 private:
  static void start_over() {
    simt::set_seed({});
    cudaSetDevice(0);
    cudaGetLastError();
  }
};

// A host function that blocks its stream until the gate is opened or destroyed.
class Gate {
 public:
  ~Gate() { open(); }
  void open() { *open_ = true; }
  void hold(cudaStream_t stream) {
    ASSERT_EQ(cudaLaunchHostFunc(stream, wait, new std::shared_ptr(open_)), cudaSuccess);
  }

 private:
  using Open = std::shared_ptr<std::atomic<bool>>;
  static void wait(void* open) {  // may outlive the gate
    const std::unique_ptr<Open> gate(static_cast<Open*>(open));
    while (!**gate) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  Open open_ = std::make_shared<std::atomic<bool>>(false);
};

template <class T>
T read(const T* device_pointer) {
  T value{};
  EXPECT_EQ(cudaMemcpy(&value, device_pointer, sizeof(T), cudaMemcpyDefault), cudaSuccess);
  return value;
}

template <class T>
T* allocate(size_t count) {
  T* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, count * sizeof(T)), cudaSuccess);
  return pointer;
}

inline cudaStream_t make_stream(unsigned flags = cudaStreamNonBlocking) {
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, flags), cudaSuccess);
  return stream;
}

inline cudaEvent_t make_event(unsigned flags = cudaEventDisableTiming) {
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&event, flags), cudaSuccess);
  return event;
}

}  // namespace simt_test
