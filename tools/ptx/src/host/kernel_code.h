// PreparedLaunch: a launch of a kernel in PTX, as simt::Kernel::code holds it.
#pragma once

#include <simt/launch.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "program.h"

namespace ptx {

// The accesses of one execution of a launch. A graph executes its launches again and again, one execution
// after the other.
class ExecutionLog {
 public:
  // To be called once for each of the `clusters` of an execution, before it runs.
  std::shared_ptr<RaceLog> begin_cluster(uint64_t clusters);

 private:
  std::mutex mutex_;
  std::shared_ptr<RaceLog> log_;
  uint64_t begun_ = 0;
};

// The parameters of one launch, at an address that tensor maps among them can have.
class PreparedLaunch {
 public:
  static constexpr size_t kAlignment = 64;

  // Copies the arguments, which are given as cudaLaunchKernel() has them.
  PreparedLaunch(KernelCode code, void* const* arguments);

  const KernelCode& code() const { return code_; }
  const unsigned char* parameters() const { return begin_; }
  // Where pointers to memory may be, for simt::StandIns.
  std::vector<simt::Argument> arguments() const;
  ExecutionLog& races() const { return races_; }

 private:
  KernelCode code_;
  std::vector<unsigned char> bytes_;
  unsigned char* begin_ = nullptr;
  mutable ExecutionLog races_;
};

// The launch of `function` on the current device. Throws simt::Failure.
simt::Launch prepare(const void* function, void* const* arguments);

}  // namespace ptx
