// Starts and stops the race detector.
#include <simt/check.h>
#include "../host/runtime.h"
#include "race_check.h"
#include "whole_program.h"

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

}  // namespace

void check_whole_program(Runtime& runtime) { start(runtime, /*print=*/true); }

size_t findings_of_whole_program() { return check ? check->findings().size() : 0; }

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
