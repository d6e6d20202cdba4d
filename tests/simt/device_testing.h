// Runs kernels block by block, without streams or devices.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <simt/kernel.h>
#include <simt/settings.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

// First in a test whose program is wrong on purpose, or starts the race detector itself.
#define NOT_UNDER_CHECK() \
  if (simt::settings().check) GTEST_SKIP() << "not with SIMT_CHECK=1"

namespace simt_test {

#if defined(__SANITIZE_THREAD__) && !defined(SIMT_OBSERVE)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

struct Shape {
  dim3 grid = 1;
  dim3 block = 32;
  size_t shared_bytes = 0;
};

// The kernel refers to `body`.
inline simt::Kernel make_kernel(Shape shape, const std::function<void()>& body) {
  simt::Kernel kernel;
  kernel.grid = shape.grid;
  kernel.block = shape.block;
  kernel.shared_bytes = shape.shared_bytes;
  kernel.name = "test_kernel";
  kernel.body = [](const void* body) { (*static_cast<const std::function<void()>*>(body))(); };
  kernel.storage = &body;
  return kernel;
}

inline uint64_t block_count(const simt::Kernel& kernel) {
  return uint64_t{kernel.grid.x} * kernel.grid.y * kernel.grid.z;
}

// Counts the threads that run a kernel's body. Assertions in a body that does not run pass.
class ThreadCount {
 public:
  const std::function<void()>& counting(std::function<void()> body) {
    return counted_ = [this, body = std::move(body)] {
      ++count_;
      body();
    };
  }
  void expect_all(const simt::Kernel& kernel) const {
    EXPECT_EQ(count_, block_count(kernel) * kernel.block.x * kernel.block.y * kernel.block.z);
  }

 private:
  std::function<void()> counted_;
  std::atomic<uint64_t> count_{0};
};

// Runs all blocks on the calling thread, up to the first fault.
inline simt::Fault run(Shape shape, std::function<void()> body) {
  ThreadCount threads;
  const simt::Kernel kernel = make_kernel(shape, threads.counting(std::move(body)));
  simt::Fault fault;
  for (uint64_t b = 0; b < block_count(kernel) && fault.error == cudaSuccess; ++b)
    fault = run_block(kernel, b);
  join_blocks(kernel);
  if (fault.error == cudaSuccess) threads.expect_all(kernel);
  return fault;
}

// Runs all blocks, which must succeed.
inline void run_ok(Shape shape, std::function<void()> body) {
  const simt::Fault fault = run(shape, std::move(body));
  ASSERT_EQ(fault.error, cudaSuccess) << fault.message;
}

// Runs the blocks on `workers` threads concurrently.
inline void run_parallel(int workers, Shape shape, std::function<void()> body) {
  ThreadCount count;
  const simt::Kernel kernel = make_kernel(shape, count.counting(std::move(body)));
  std::atomic<uint64_t> next{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < workers; ++i)
    threads.emplace_back([&] {
      for (uint64_t b; (b = next++) < block_count(kernel);)
        EXPECT_EQ(run_block(kernel, b).error, cudaSuccess);
      join_blocks(kernel);
    });
  for (std::thread& thread : threads) thread.join();
  count.expect_all(kernel);
}

// Settings of the executor that last until the end of the scope.
struct Seed {
  explicit Seed(uint64_t seed) { simt::set_seed(seed); }
  ~Seed() { simt::set_seed(std::nullopt); }
};
struct LateCopies {
  LateCopies() { simt::set_late_copies(true); }
  ~LateCopies() { simt::set_late_copies(false); }
};

inline void expect_fault(const simt::Fault& fault, std::initializer_list<std::string> parts,
                         cudaError_t error = cudaErrorLaunchFailure) {
  EXPECT_EQ(fault.error, error);
  for (const std::string& part : parts)
    EXPECT_NE(fault.message.find(part), std::string::npos) << part << "\n" << fault.message;
}

// How a fault names a line of the source.
inline std::string place_text(const std::string& file, int line) {
  return file + ":" + std::to_string(line) + " ";
}

template <class T>
T& shared(size_t index = 0) {
  return static_cast<T*>(simt::shared_memory())[index];
}

}  // namespace simt_test
