// Settings of the executor, from the environment or set by a program.
#pragma once

#include <simt/kernel.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace simt {

inline constexpr int kMostDevices = 1024;
inline constexpr int kMostWorkers = 1024;
inline constexpr int kMostConnections = 32;
inline constexpr int kLongestQueue = 1 << 20;

struct Settings {
  int devices = 8;                        // SIMT_DEVICES: 1 to kMostDevices
  int workers = 0;                        // SIMT_WORKERS: OS threads that run kernels, 1 to kMostWorkers;
                                          // default: one per core
  size_t memory_bytes = size_t{8} << 30;  // SIMT_MEMORY: memory limit per device, in bytes; at least 1
  bool late_copies = false;               // SIMT_LATE_COPIES: 0 or 1; 1: asynchronous copies at the wait
  std::string gpu;                // SIMT_GPU: the GPU or GPUs whose limits apply; empty: the executor's own
  std::optional<uint64_t> seed;   // SIMT_SEED: seed of a random execution order
  bool lazy_loading = true;       // CUDA_MODULE_LOADING: LAZY or DEFAULT; EAGER: no kernel is loaded lazily
  bool capture_loads = true;      // SIMT_CAPTURE_LOADS: 0 or 1; 0: no kernel is loaded during a capture
  int queue_length = 1024;        // SIMT_QUEUE_LENGTH: unfinished operations of a stream, 1 to kLongestQueue
  int connections = 8;            // CUDA_DEVICE_MAX_CONNECTIONS: hardware queues, 1 to kMostConnections
  bool allocation_waits = false;  // SIMT_ALLOCATION_WAITS: 0 or 1; 1: cudaMalloc and cudaHostAlloc wait
  bool free_waits = true;         // SIMT_FREE_WAITS: 0 or 1; 0: cudaFree and cudaFreeHost do not wait
  size_t graph_node_bytes = 0;   // SIMT_GRAPH_NODE_BYTES: device memory of an executable graph, per operation
  bool zeroed_memory = false;    // SIMT_ZEROED_MEMORY: 0 or 1; 1: new memory is 0 instead of 0xFF bytes
  bool check = false;            // SIMT_CHECK: 0 or 1; 1: check the whole program (simt/check.h)
  bool bounds = false;           // SIMT_BOUNDS: 0 or 1; 1: check that accesses are to memory of the device
  bool lockstep = false;         // SIMT_LOCKSTEP: 0 or 1; 1: threads make their volatile accesses in step
  std::string count_file;        // SIMT_COUNT: count the whole program, and write the counts to this file
  bool report_contexts = false;  // SIMT_REPORT_CONTEXTS: 0 or 1; 1: a line on stderr when the process ends
  std::chrono::milliseconds patience{10'000};  // time before an implicit wait is reported on stderr
};

// The current settings. The first call reads the environment. All values except those of SIMT_GPU and
// CUDA_MODULE_LOADING are decimal numbers; an empty variable counts as not set. An invalid value ends the
// process with a message on stderr and exit code 2.
const Settings& settings();

// Both return cudaErrorSetOnActiveProcess after the first CUDA call that needed a device, and
// cudaErrorInvalidValue for a number below one or above the maximum.
//
// The first CUDA call starts the worker threads, and one thread for host functions. If not all of them can be
// started (limits on processes or memory), the started ones are ended, a line on stderr gives their number,
// and this and all later calls return cudaErrorInitializationError.
cudaError_t set_device_count(int devices);
cudaError_t set_worker_count(int workers);

// Sets the GPU whose limits the devices report in their properties and apply to launches: threads, shared
// memory, compute capability, multiprocessors, and blocks and threads per multiprocessor. `name` is t4, a100,
// rtx4090, h100, h200, b200 or rtx5090, or a list such as "h100,t4": device i has the limits of entry i
// modulo the length of the list. Empty selects the executor's own limits, which are those of an h100 with
// one multiprocessor per worker. Returns cudaErrorInvalidValue for another name, and
// cudaErrorSetOnActiveProcess after the first CUDA call that needed a device.
//
// The executor does not know a kernel's register count: it accepts launches that a GPU rejects for lack of
// registers.
cudaError_t set_gpu(std::string_view name);

// Sets the memory limit of one device; existing allocations stay.
cudaError_t set_memory_limit(int device, size_t bytes);

// The device memory that a graph takes, which CUDA does not document: so many bytes for each of its
// operations (kernels, copies, fills, host functions), on the operation's device. cudaGraphInstantiate()
// takes them once, and cudaGraphUpload() or the first launch a second time. Each returns
// cudaErrorMemoryAllocation, and takes nothing, if they exceed the memory limit of a device.
// cudaGraphExecDestroy() frees them. Applies to graphs that are instantiated from now on.
void set_graph_memory(size_t bytes_per_operation);

// With a seed, nothing runs until the host waits. Then each next operation is drawn at random among all that
// the program's own ordering (streams, events) allows, so that missing dependencies show sooner or later, and
// the same seed repeats the order. Without a seed, operations run as soon as they can. Waits for pending
// work.
void set_seed(std::optional<uint64_t> seed);

// When asynchronous operations of blocks that start afterwards happen (cp.async, cp.async.bulk, wgmma): at
// the issue, or at the wait, with 0xFF in the destination until then. And when cudaMemcpyAsync() accesses
// pageable memory: before it returns, or in stream order when a host thread waits, polls or calls nothing for
// 0.2 s.
void set_late_copies(bool late);

// The following settings simulate waits that a GPU may add; see README.md, "Waits that a GPU may add". All
// apply from the next call on.
//
// Whether the first launch of a kernel on a device loads the kernel, which waits until the device is idle. A
// kernel stays loaded until cudaDeviceReset().
void set_lazy_loading(bool lazy);
// Whether a kernel can be loaded during a capture, as with drivers of CUDA 12.3 and newer. If not, a call
// that must load a kernel returns cudaErrorStreamCaptureUnsupported, and the capture is invalid: a launch on
// a stream that is captured, and all such calls of a thread that has begun a capture. No effect without lazy
// loading.
void set_capture_loads(bool loads);
// The maximum of unfinished operations of a stream: the next one blocks its caller. Returns
// cudaErrorInvalidValue for a value below one or above kLongestQueue.
cudaError_t set_queue_length(int operations);
// The number of hardware queues of a device, which streams created from now on share. Returns
// cudaErrorInvalidValue for a value below one or above kMostConnections.
cudaError_t set_connections(int queues);
// Whether cudaMalloc waits until its device is idle, and cudaHostAlloc until all devices are.
void set_allocation_waits(bool waits);
// Whether cudaFree waits until the memory's device is idle, and cudaFreeHost until all devices are, as GPUs
// do and CUDA does not promise.
void set_free_waits(bool waits);
// The duration of such a wait, or of cudaFree's, after which a line on stderr reports it. The wait continues.
void set_patience(std::chrono::milliseconds patience);

// The bytes of memory that is allocated from now on, device memory and pinned: 0xFF, NaN for floats, so that
// a read of memory that nobody wrote shows; or 0, for programs that leave out some of the writes on purpose.
void set_zeroed_memory(bool zeroed);

// The devices with a context: from the first call that needs one to cudaDeviceReset(). On a GPU each costs
// some hundred MB of memory. Every call creates a context on the thread's current device, except queries of
// devices and their properties, error and version functions, and cudaDeviceReset(). cudaSetDevice() creates
// one on the given device; cudaDeviceEnablePeerAccess() and peer copies create one on both devices. With
// SIMT_REPORT_CONTEXTS=1 the process prints a line at its end, such as "simt: contexts on devices 1, 2": the
// devices that ever had one, or "none". A process without CUDA calls prints nothing.
std::vector<int> devices_with_context();

// The kernels that are loaded on a device: launched there, or loaded by cudaFuncGetAttributes(), since the
// last cudaDeviceReset(). Empty if the device does not exist.
std::set<std::string> loaded_kernels(int device);

// The last fault of any kernel of this process; error == cudaSuccess if there was none.
Fault last_fault();

}  // namespace simt
