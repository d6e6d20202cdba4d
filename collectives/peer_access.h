// Verifies that two devices can use each other's memory.
#pragma once

#include <rondo/kernels/core/status.h>

#include <cstdint>

namespace rondo {

enum class PeerAccess {
  same_device,
  direct,       // access is enabled in both directions, and all data of the trial arrived
  unsupported,  // CUDA refuses access in at least one direction
  broken,       // CUDA reports access, but data of the trial did not arrive
};

const char* name_of(PeerAccess access);

// Enables access between two devices in both directions and verifies it by a trial. Some machines report
// access and then lose or corrupt data without an error, usually because of an IOMMU between the devices.
// This may affect one direction only, or only copies of many kilobytes. So the trial moves megabytes in each
// direction by all ways that the algorithms use: cudaMemcpyPeerAsync and cudaMemcpyAsync on streams of either
// device, and loads and stores of 16 bytes in kernels. Each time a kernel on the receiving device compares
// all bytes.
//
// If anything fails in either direction, access that connect() has enabled is disabled in both, so that
// copies are staged through the host. Access that the caller's program has enabled stays. The process keeps
// the result of a trial, so a pair of devices is tried once. Each call enables access again, because
// cudaDeviceReset() disables it.
//
// Throws rondo::Error if a device has failed, or if its memory for the trial cannot be allocated; and a
// bad_argument Error if the trial fails and the caller's program has enabled access, which copies would use.
// Any other error of enabling is PeerAccess::unsupported.
PeerAccess connect(int device, int peer);

// Memory of a device for the trial, aligned to 16 bytes. Its contents may be overwritten.
struct TrialMemory {
  int device = 0;
  void* data = nullptr;
  int64_t bytes = 0;
};

// The same in memory of the caller. If one of the two has fewer than kTrialMemoryBytes, the trial allocates
// and frees its own. Otherwise, if load_trial_kernels() was called before, it waits only for its own work, so
// that stuck work on the devices does not delay it.
PeerAccess connect(const TrialMemory& device, const TrialMemory& peer);

inline constexpr int64_t kTrialBytes = int64_t{1} << 20;  // moved in each way
inline constexpr int64_t kTrialMemoryBytes = 2 * kTrialBytes + 16;

// Loads the kernels of the trial on the current device (load() in launch.cuh).
Status load_trial_kernels();

// Discards the results of all trials, so that the next call of connect() tries again. For a program that has
// repaired a link, and for tests.
void forget_trials();

}  // namespace rondo
