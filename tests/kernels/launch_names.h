#pragma once

#include <rondo/kernels/core/launch_observer.h>

#include <string>
#include <vector>

namespace rondo::test {

// The names of the kernels that this thread launches while it exists.
struct LaunchNames final : LaunchObserver {
  LaunchNames() { current = this; }
  ~LaunchNames() { current = nullptr; }
  LaunchNames(const LaunchNames&) = delete;
  LaunchNames& operator=(const LaunchNames&) = delete;
  void before_launch(const char* kernel, cudaStream_t) noexcept override { names.emplace_back(kernel); }
  void after_launch() noexcept override {}
  std::vector<std::string> names;
};

}  // namespace rondo::test
