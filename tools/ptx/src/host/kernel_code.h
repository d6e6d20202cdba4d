// PreparedLaunch: a launch of a kernel in PTX, as simt::Kernel::code holds it.
#pragma once

#include <simt/launch.h>

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "program.h"

namespace ptx {

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

 private:
  KernelCode code_;
  std::vector<unsigned char> bytes_;
  unsigned char* begin_ = nullptr;
};

// The launch of `function` on the current device. Throws simt::Failure.
simt::Launch prepare(const void* function, void* const* arguments);

}  // namespace ptx
