// An access of a kernel to an address without memory is a fault of the kernel, as on a GPU. A CUDA thread
// that has used up its stack ends the program, with a message.
#pragma once

#include <memory>

namespace simt {

// One per worker: a second stack for the signal handler, because the first one may be full.
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
