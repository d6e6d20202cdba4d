// The race detector for kernels: accesses to memory that nothing orders, reads of memory that nobody wrote,
// and reads of asynchronous copies before they were waited for.
//
// It needs a build with RONDO_OBSERVE (the preset observe). SIMT_CHECK=1 checks a whole program: each finding
// is printed on stderr when it occurs, and the process ends with exit code 3 if there were any. A program can
// also check a part of itself, with the functions below.
//
// Whether two accesses are ordered does not depend on when they happened to run, only on what the program
// guarantees: barriers, mbarriers, __syncwarp, fences, streams, events, graphs, and what the host waited for.
// One run therefore finds a missing barrier or event even if the result was right. See tools/simt/README.md
// for the rules and for what is not found.
#pragma once

#include <simt/observe.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace simt {

inline constexpr int kExitCodeOfFindings = 3;

enum class Problem : uint8_t {
  race,                 // two accesses, at least one a write, that nothing orders
  unwritten_read,       // of memory that nobody wrote since it was allocated or the block began
  unfinished_copy,      // an access to the destination of a cp.async or a bulk copy, a write to an operand of
                        // wgmma, or an access to its accumulators, before the wait for it
  missing_proxy_fence,  // a read by wgmma of what a thread wrote, with no fence.proxy.async between the two
  unstarted_block,      // an access to the shared memory of another block of the cluster, which may not have
                        // started
  ended_block           // the same of a block that may have ended
};

// One access of a finding.
struct CheckedAccess {
  AccessKind kind = AccessKind::load;
  bool atomic = false;
  int bytes = 0;
  std::string operation;  // the kernel's name; "a copy", "a fill"
  bool in_kernel = false;
  uint3 block = {0, 0, 0}, thread = {0, 0, 0};  // in a kernel
  std::string stream;                           // "stream 2", "the default stream of device 0"
  std::vector<SourceLine> inlined;  // in a kernel: the place, then the places that it was inlined into
};

struct Finding {
  Problem problem = Problem::race;
  AccessSpace space = AccessSpace::global;
  size_t offset = 0;                     // in shared memory, in its allocation, or the number of a register
  std::optional<CheckedAccess> earlier;  // of a pair of accesses
  CheckedAccess access;
  uint64_t times = 0;  // that it occurred
  std::string text;    // as printed
};

// Starts to check. Returns cudaErrorNotSupported if the build cannot observe, and cudaErrorInvalidValue if a
// check or a profile is running. What was allocated before counts as written.
cudaError_t start_check();

// Waits for all devices, stops, and returns the findings: one for each pair of places in the source.
std::vector<Finding> stop_check();

}  // namespace simt
