// Starts and stops the race detector.
#include <simt/check.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "../host/runtime.h"
#include "race_check.h"

namespace simt {
namespace {

std::mutex check_mutex;
// Not destroyed, because a block may still hold a pointer to one that was stopped.
RaceCheck* check = nullptr;

void start(Runtime& runtime, bool print) {
  check = new RaceCheck(runtime.order, runtime.memory, print);
  runtime.order.start();
  active_observer = check;
}

// Instead of the remaining exit handlers, because nothing else changes the exit code of a process that ends.
void end_with_findings() {
  const size_t findings = check->findings().size();
  if (findings == 0) return;
  std::fprintf(stderr, "simt: %zu finding%s of SIMT_CHECK=1\n", findings, findings == 1 ? "" : "s");
  std::fflush(nullptr);
  std::_Exit(kExitCodeOfFindings);
}

}  // namespace

void check_whole_program(Runtime& runtime) {
  start(runtime, /*print=*/true);
  static const pid_t owner = getpid();
  std::atexit([] {
    if (getpid() == owner) end_with_findings();
  });
}

cudaError_t start_check() {
  std::lock_guard lock(check_mutex);
  return answer([&](Runtime& runtime) {
    if (check || active_observer) return cudaErrorInvalidValue;
    runtime.scheduler.wait_all();
    start(runtime, /*print=*/false);
    return cudaSuccess;
  });
}

std::vector<Finding> stop_check() {
  std::lock_guard lock(check_mutex);
  std::vector<Finding> findings;
  static_cast<void>(answer([&](Runtime& runtime) {
    if (!check || active_observer != check) return cudaErrorInvalidValue;
    runtime.scheduler.wait_all();
    active_observer = nullptr;
    runtime.order.stop();
    findings = check->findings();
    check = nullptr;
    return cudaSuccess;
  }));
  return findings;
}

}  // namespace simt
