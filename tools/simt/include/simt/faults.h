// Simulated hardware failures, for tests of error handling.
#pragma once

#include <driver_types.h>

#include <cstdint>

namespace simt {

// Makes the n-th device-to-device copy (within a device or between two) issued from now on fail, as if the
// link broke: the copy writes nothing, and the device of its stream gets the sticky error
// cudaErrorNvlinkUncorrectable, which every later call on that device returns until cudaDeviceReset(). Copies
// count in the order in which the host issues them; those of a graph count at every launch, in capture order.
// Only one copy fails; n == 0 cancels the failure.
void fail_copy(uint64_t n);

// Makes the n-th call for a device-to-device copy from now on return cudaErrorMemoryAllocation, with no effect,
// as a call may that finds no memory for its bookkeeping. The device works on. Only one call fails; n == 0
// cancels it. Calls that are captured count, too.
void refuse_copy(uint64_t n);

// present == false: every launch, and every other call that needs a kernel, returns
// cudaErrorNoKernelImageForDevice, as in a program that was not compiled for the device's architecture.
void set_kernel_images(bool present);

enum class PeerAccess {
  works,
  absent,  // cudaDeviceCanAccessPeer returns 0, cudaDeviceEnablePeerAccess cudaErrorPeerAccessUnsupported
  broken,  // both succeed, but kernels read 0xFF bytes across the link, and their writes are lost
};

// Sets the state of the link by which kernels of `device` access the memory of `peer`, in this direction
// only. Copies always work, because the driver uses another path for them. `absent` also disables access that
// was enabled. Applies to kernels that are launched (or captured) from now on. `broken` applies to pointers
// in the kernel's arguments, including those in structs, but not to pointers that the kernel reads from
// memory. cudaDeviceReset() does not change the state. Returns cudaErrorInvalidDevice if a device does not
// exist or both are the same.
cudaError_t set_peer_access(int device, int peer, PeerAccess access);

enum class StagedGraphCopies {
  work,              // as on streams
  not_captured,      // the copy returns cudaErrorStreamCaptureUnsupported, and the capture is invalid
  not_instantiated,  // cudaGraphInstantiate returns cudaErrorNotSupported
  not_launched,      // cudaGraphLaunch returns cudaErrorNotSupported
};

// Sets the behaviour of a graph with a copy between two devices without peer access (PeerAccess::absent).
// Such copies are staged through the host, and CUDA does not document whether a graph may contain them.
void set_staged_graph_copies(StagedGraphCopies copies);

enum class Driver {
  current,
  older,         // cudaStreamGetDevice, of CUDA 12.8, returns cudaErrorCallRequiresNewerDriver
  insufficient,  // cudaGetDeviceCount returns cudaErrorInsufficientDriver
};

// Sets the driver that calls find. It does not unload what is loaded.
void set_driver(Driver driver);

}  // namespace simt
