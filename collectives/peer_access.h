// Verifies that a kernel on one device can write to another device's memory.
#pragma once

#include <rondo/kernels/core/status.h>

#include <cstdint>

namespace rondo {

enum class PeerAccess {
  same_device,
  direct,       // a kernel wrote to the peer's memory and the host read it back
  unsupported,  // CUDA reports no access
  broken,       // CUDA reports access, but the written data did not arrive
};

const char* name_of(PeerAccess access);

// Enables peer access from kernels of `device` to the memory of `peer` and verifies it: a kernel stores a
// pattern and the owner of the memory copies it to the host. Some machines report access, accept the stores
// and lose them, usually because of an IOMMU between the devices. If the check fails, access is disabled
// again, so that copies are staged through the host. Throws rondo::Error if a device fails. Synchronises with
// both devices.
PeerAccess connect(int device, int peer);

// The same check in `bytes` (at least 4) of the peer's memory, whose contents are overwritten. If
// load_trial_kernel() was called before, it waits only for its own work, so that stuck work on the devices
// does not delay it.
PeerAccess connect(int device, int peer, void* memory, int64_t bytes);

// Loads the kernel of the check on the current device (load() in launch.cuh).
Status load_trial_kernel();

}  // namespace rondo
