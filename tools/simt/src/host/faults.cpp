#include <simt/faults.h>

#include <atomic>

#include "runtime.h"

namespace simt {
namespace {
std::atomic<bool> kernel_images{true};
std::atomic<Driver> driver_found{Driver::current};
std::atomic<StagedGraphCopies> staged_graph_copies{StagedGraphCopies::work};
}  // namespace

void set_kernel_images(bool present) { kernel_images = present; }

void require_kernel_image() { require(kernel_images, cudaErrorNoKernelImageForDevice); }

void set_driver(Driver driver) { driver_found = driver; }

void refuse_driver(Driver refused, cudaError_t error) { require(driver_found != refused, error); }

void set_staged_graph_copies(StagedGraphCopies copies) { staged_graph_copies = copies; }

bool Runtime::is_staged(const Operation& operation) const {
  if (!operation.copies) return false;
  const auto [from, to] = *operation.copies;
  return memory.link(from, to) == PeerAccess::absent || memory.link(to, from) == PeerAccess::absent;
}

void Runtime::refuse_staged_copy(Capture& capture, const Operation& operation) const {
  if (staged_graph_copies != StagedGraphCopies::not_captured || !is_staged(operation)) return;
  capture.invalidated = true;
  throw Failure{cudaErrorStreamCaptureUnsupported};
}

void Runtime::refuse_staged_copies(const GraphExec& exec, StagedGraphCopies refused) const {
  if (staged_graph_copies != refused) return;
  for (const GraphStep& step : exec.steps)
    require(!step.node || !step.node->operation || !is_staged(*step.node->operation), cudaErrorNotSupported);
}

void fail_copy(uint64_t n) {
  static_cast<void>(answer([&](Runtime& runtime) {
    std::lock_guard lock(runtime.mutex);
    runtime.copies_until_failure = n;
    return cudaSuccess;
  }));
}

void refuse_copy(uint64_t n) {
  static_cast<void>(answer([&](Runtime& runtime) {
    std::lock_guard lock(runtime.mutex);
    runtime.copies_until_refusal = n;
    return cudaSuccess;
  }));
}

namespace {

// Calls set(memory) for the link from one device to another.
template <class Set>
cudaError_t set_link(int from, int to, Set&& set) {
  return answer([&](Runtime& runtime) {
    runtime.check_ordinal(from);
    runtime.check_ordinal(to);
    require(from != to, cudaErrorInvalidDevice);
    std::lock_guard lock(runtime.mutex);
    set(runtime.memory);
    return cudaSuccess;
  });
}

}  // namespace

cudaError_t set_peer_access(int device, int peer, PeerAccess access) {
  return set_link(device, peer, [&](Memory& memory) {
    memory.set_link(device, peer, access);
    if (access == PeerAccess::absent) memory.enable_peer(device, peer, false);
  });
}

cudaError_t set_peer_copies(int from, int to, PeerCopies copies) {
  return set_link(from, to, [&](Memory& memory) { memory.set_copies(from, to, copies); });
}

// Decided at the issue, not when the copy runs, so that the same copy fails in any order of execution.
TaskPtr Runtime::make_task(std::shared_ptr<const Operation> operation) {
  const bool counts = operation && operation->copies && copies_until_failure > 0;
  if (!counts || --copies_until_failure > 0) return std::make_shared<Task>(std::move(operation));
  auto failing = std::make_shared<Operation>();
  failing->device = operation->device;
  failing->run = [](uint64_t) {
    return Fault{cudaErrorNvlinkUncorrectable, "a copy failed (simt::fail_copy)"};
  };
  return std::make_shared<Task>(std::move(failing));
}

}  // namespace simt
