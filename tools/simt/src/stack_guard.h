// Says so when a CUDA thread needs more stack than it has; otherwise the program would end without a word.
#pragma once

#include <memory>

namespace simt {

// One for every worker: a second stack for the handler of the signal, since the first is full by then.
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
