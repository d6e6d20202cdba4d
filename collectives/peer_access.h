// Whether one device's kernels really reach another device's memory.
#pragma once

#include <rondo/kernels/core/status.h>

#include <cstdint>

namespace rondo {

enum class PeerAccess {
  same_device,
  direct,       // a kernel wrote into the peer's memory and the peer read it back
  unsupported,  // the machine says that it can't
  broken,       // the machine says that it can, and the peer did not find what was written
};

const char* name_of(PeerAccess access);

// Opens the memory of `peer` to kernels of `device`, and tries it: the kernel stores a pattern, the
// owner copies it to the host. Machines are known that report access, take the stores and lose them (an
// IOMMU between the devices is the usual reason). Access that fails the trial is closed again, so that copies
// are staged through the host. Throws rondo::Error when a device fails. Waits for the devices.
PeerAccess connect(int device, int peer);

// The same, tried in `bytes` (at least 4) of the peer's memory, whose contents are lost. Waits for nothing but the
// trial, so that work that is stuck on the devices does not hold it up, where load_trial_kernel() came
// before.
PeerAccess connect(int device, int peer, void* memory, int64_t bytes);

// Loads the kernel of the trial on the current device (launch.cuh, load()).
Status load_trial_kernel();

}  // namespace rondo
