// Reports a CUDA thread's stack overflow, which would otherwise end the program without a message.
#pragma once

#include <memory>

namespace simt {

// One per worker: a second stack for the signal handler, because the first one is full.
class StackGuard {
 public:
  StackGuard();
  ~StackGuard();
  StackGuard(const StackGuard&) = delete;
  StackGuard& operator=(const StackGuard&) = delete;

 private:
  std::unique_ptr<char[]> memory_;
};

}  // namespace simt
