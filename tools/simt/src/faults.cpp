#include <simt/faults.h>

#include <atomic>

#include "kernel_image.h"
#include "runtime.h"

namespace simt {
namespace {
std::atomic<bool> kernel_images{true};
}  // namespace

void set_kernel_images(bool present) { kernel_images = present; }

void require_kernel_image() { require(kernel_images, cudaErrorNoKernelImageForDevice); }

void fail_copy(uint64_t n) {
  static_cast<void>(answer([&](Runtime& runtime) {
    std::lock_guard lock(runtime.mutex);
    runtime.copies_until_failure = n;
    return cudaSuccess;
  }));
}

cudaError_t set_peer_access(int device, int peer, PeerAccess access) {
  return answer([&](Runtime& runtime) {
    runtime.check_ordinal(device);
    runtime.check_ordinal(peer);
    require(device != peer, cudaErrorInvalidDevice);
    std::lock_guard lock(runtime.mutex);
    runtime.memory.set_link(device, peer, access);
    if (access == PeerAccess::absent) runtime.memory.enable_peer(device, peer, false);
    return cudaSuccess;
  });
}

// Decided at issue, not when the copy runs: so the same copy fails whatever the order of execution.
TaskPtr Runtime::make_task(std::shared_ptr<const Operation> operation) {
  const bool counts = operation && operation->device_to_device && copies_until_failure > 0;
  if (!counts || --copies_until_failure > 0) return std::make_shared<Task>(std::move(operation));
  auto failing = std::make_shared<Operation>();
  failing->device = operation->device;
  failing->run = [](uint64_t) {
    return Fault{cudaErrorNvlinkUncorrectable, "a copy failed (simt::fail_copy)"};
  };
  return std::make_shared<Task>(std::move(failing));
}

}  // namespace simt
