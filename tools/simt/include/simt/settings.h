// What can be chosen about the executor, from the environment or by a program.
#pragma once

#include <simt/kernel.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
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
                                          // default: one a core
  size_t memory_bytes = size_t{8} << 30;  // SIMT_MEMORY: limit of one device, in bytes; at least 1
  bool late_copies = false;  // SIMT_LATE_COPIES: 0 or 1; 1: cp.async copies when it is waited for
  std::string gpu;           // SIMT_GPU: whose limits of a block hold; empty: the executor's own
  std::optional<uint64_t> seed;           // SIMT_SEED: draw the order of execution from it
  bool lazy_loading = true;       // CUDA_MODULE_LOADING: LAZY or DEFAULT; EAGER: no kernel is loaded late
  int queue_length = 1024;        // SIMT_QUEUE_LENGTH: unfinished operations of a stream, 1 to kLongestQueue
  int connections = 8;            // CUDA_DEVICE_MAX_CONNECTIONS: hardware queues, 1 to kMostConnections
  bool allocation_waits = false;  // SIMT_ALLOCATION_WAITS: 0 or 1; 1: cudaMalloc and cudaHostAlloc wait
  bool report_contexts = false;   // SIMT_REPORT_CONTEXTS: 0 or 1; 1: a line on stderr when the process ends
  std::chrono::milliseconds patience{10'000};  // after which a wait that was not asked for is told
};

// The settings in force. Reads the environment at the first call. All values but those of SIMT_GPU and
// CUDA_MODULE_LOADING are decimal digits; an empty variable counts as not set. Any other value ends the
// process: a message on stderr and exit code 2.
const Settings& settings();

// Both answer cudaErrorSetOnActiveProcess after the first CUDA call that needed a device,
// cudaErrorInvalidValue for a number below one or above the most.
//
// The first CUDA call starts the worker threads, and one for host functions. Where not all of them start (a
// limit on processes or on memory), those that did are ended, one line on stderr says how many there were,
// and that call and all later ones answer cudaErrorInitializationError.
cudaError_t set_device_count(int devices);
cudaError_t set_worker_count(int workers);

// The GPU whose limits all devices have from now on: threads, shared memory and compute capability, blocks
// and threads of a multiprocessor and how many of these there are, as the properties tell them and launches
// are checked. One of t4, a100, rtx4090, h100 and b200; empty: the executor's own, which are those of an h100
// with a multiprocessor for each worker. Answers cudaErrorInvalidValue for another name,
// cudaErrorSetOnActiveProcess after the first CUDA call that needed a device.
//
// How many registers a kernel would use is not known here: a launch that a GPU refuses for lack of them goes
// through.
cudaError_t set_gpu(std::string_view name);

// The limit of one device's memory; what is allocated already stays.
cudaError_t set_memory_limit(int device, size_t bytes);

// With a seed nothing runs before the host waits for it, and then each next operation is drawn at random
// among all that the program's own ordering (streams, events) allows: what is not ordered runs out of order
// sooner or later, and the same seed repeats it. Without one operations run as soon as they can. Waits for
// pending work.
void set_seed(std::optional<uint64_t> seed);

// When cp.async copies: at once, or only when its group is waited for, with 0xFF in the destination
// meanwhile. A kernel must be right both ways. Takes effect for blocks that start afterwards.
void set_late_copies(bool late);

// What a GPU may do and a program must therefore bear. README.md, "Waits that a GPU may add", has the
// details. All take effect from the next call on.
//
// Whether a kernel is loaded by its first launch on a device, which waits until the device is idle. A kernel
// that is loaded stays so until cudaDeviceReset().
void set_lazy_loading(bool lazy);
// How many operations of a stream may be unfinished: the next one blocks its caller. cudaErrorInvalidValue
// for less than one and more than kLongestQueue.
cudaError_t set_queue_length(int operations);
// How many hardware queues of a device the streams share that are made from now on. cudaErrorInvalidValue for
// less than one and more than kMostConnections.
cudaError_t set_connections(int queues);
// Whether cudaMalloc waits until its device is idle, and cudaHostAlloc until all are.
void set_allocation_waits(bool waits);
// How long one of these waits, or that of cudaFree, lasts until a line on stderr says what waits for what.
// The wait goes on.
void set_patience(std::chrono::milliseconds patience);

// The devices that have a context: from the first call that needs one to cudaDeviceReset(). Each costs a
// GPU's memory some hundred MB. Every call makes one of the thread's current device, except those that ask
// what devices there are and what they can do, and those about errors, versions and cudaDeviceReset();
// cudaSetDevice() makes one of the device that it names, cudaDeviceEnablePeerAccess() and copies between
// peers of both devices. SIMT_REPORT_CONTEXTS=1 prints one line when the process ends, such as "simt:
// contexts on devices 1, 2": the devices that ever had one, or "none". A process that made no CUDA call
// prints nothing.
std::vector<int> devices_with_context();

// The last fault of any kernel of this process; error == cudaSuccess when there was none.
Fault last_fault();

}  // namespace simt
