// Hardware that breaks, for tests of what a program does then.
#pragma once

#include <driver_types.h>

#include <cstdint>

namespace simt {

// The n-th copy from device memory to device memory (of one device or of two) that is issued from now on fails,
// as if the link broke under it: when its turn comes it writes nothing, the device of its stream gets the sticky
// error cudaErrorNvlinkUncorrectable, and every later call to that device returns it. cudaDeviceReset() takes
// the error away. Counted in the order in which the host issues the copies; those of a graph count at every
// launch of the graph, in the order of the capture. Only one copy fails; n == 0 calls the failure off.
void fail_copy(uint64_t n);

// false: as in a program that was not compiled for the device's architecture, every launch, and whatever else
// asks for a kernel, answers cudaErrorNoKernelImageForDevice.
void set_kernel_images(bool present);

enum class PeerAccess {
  works,
  absent,  // cudaDeviceCanAccessPeer answers 0, cudaDeviceEnablePeerAccess cudaErrorPeerAccessUnsupported
  broken,  // both say yes, but a kernel that crosses the link reads 0xFF bytes, and what it writes is lost
};

// The link over which kernels of `device` reach the memory of `peer`; one way only. Copies work always, as the
// driver takes them another way. `absent` also ends access that was enabled. Takes effect for kernels that are
// launched (or captured) from now on. `broken` sees the pointers that are arguments of the kernel, also inside
// structs, but not those that the kernel finds in memory. cudaDeviceReset() mends nothing.
// cudaErrorInvalidDevice for a device that is not there, or for a device and itself.
cudaError_t set_peer_access(int device, int peer, PeerAccess access);

enum class StagedGraphCopies {
  work,              // as on streams
  not_instantiated,  // cudaGraphInstantiate answers cudaErrorNotSupported
  not_launched,      // cudaGraphLaunch does
};

// What becomes of a graph with a copy between two devices of which one does not reach the other
// (PeerAccess::absent). Such copies go through the host, and CUDA does not say whether they can be nodes of a
// graph.
void set_staged_graph_copies(StagedGraphCopies copies);

}  // namespace simt
