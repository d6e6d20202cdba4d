// Simulated hardware failures, for tests of error handling.
#pragma once

#include <driver_types.h>

#include <cstddef>
#include <cstdint>

namespace simt {

// Makes the n-th device-to-device copy (within a device or between two) issued from now on fail, as if the
// link broke: the copy writes nothing, and the device of its stream gets the sticky error
// cudaErrorNvlinkUncorrectable, which every later call about that device, and every call with it current,
// returns until cudaDeviceReset(). Copies count in the order in which the host issues them; those of a graph
// count at every launch, in capture order. Only one copy fails; n == 0 cancels the failure.
void fail_copy(uint64_t n);

// Makes the n-th call for a device-to-device copy from now on return cudaErrorMemoryAllocation, with no
// effect, as a call may that finds no memory for its bookkeeping. The device works on. Only one call fails; n
// == 0 cancels it. Calls that are captured count, too.
void refuse_copy(uint64_t n);

// present == false: every launch, and every other call that needs a kernel, returns
// cudaErrorNoKernelImageForDevice, as in a program that was not compiled for the device's architecture.
void set_kernel_images(bool present);

enum class PeerAccess {
  works,
  absent,  // cudaDeviceCanAccessPeer returns 0, cudaDeviceEnablePeerAccess cudaErrorPeerAccessUnsupported
  broken,  // both succeed, but kernels read 0xFF bytes across the link, and their writes are lost
  wrong_loads,  // both succeed, writes arrive; reads are wrong after the first kSoundBytes of an allocation
};

// Sets the state of the link by which kernels of `device` access the memory of `peer`, in this direction
// only. It does not concern copies. `absent` also disables access that was enabled. Applies to kernels that
// are launched (or captured) from now on. `broken` and `wrong_loads` apply to pointers in the kernel's
// arguments, including those in structs, but not to pointers that the kernel reads from memory.
// cudaDeviceReset() does not change the state. Returns cudaErrorInvalidDevice if a device does not exist or
// both are the same.
cudaError_t set_peer_access(int device, int peer, PeerAccess access);

enum class PeerCopies {
  work,
  corrupted,  // of kSoundBytes and more; smaller ones arrive
  lost,       // the destination keeps its contents
};

// Sets what happens to copies from the memory of `from` to that of `to`, in this direction only, while access
// between the two is enabled in any direction. All calls succeed. Without access the driver copies through
// the host, which always works. Applies to copies that are enqueued (or captured) from now on. Returns
// cudaErrorInvalidDevice as set_peer_access() does.
cudaError_t set_peer_copies(int from, int to, PeerCopies copies);

// The part of a transfer that `corrupted` and `wrong_loads` leave right: tests of a few kilobytes pass.
inline constexpr size_t kSoundBytes = size_t{256} << 10;

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
