// What can be chosen about the executor, from the environment or by a program.
#pragma once

#include <simt/kernel.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace simt {

inline constexpr int kMostDevices = 1024;
inline constexpr int kMostWorkers = 1024;

struct Settings {
  int devices = 8;                        // SIMT_DEVICES: 1 to kMostDevices
  int workers = 0;                        // SIMT_WORKERS: OS threads that run kernels, 1 to kMostWorkers;
                                          // default: one a core
  size_t memory_bytes = size_t{8} << 30;  // SIMT_MEMORY: limit of one device, in bytes; at least 1
  bool late_copies = false;  // SIMT_LATE_COPIES: 0 or 1; 1: cp.async copies when it is waited for
  std::string gpu;           // SIMT_GPU: whose limits of a block hold; empty: the executor's own
  std::optional<uint64_t> seed;           // SIMT_SEED: draw the order of execution from it
};

// The settings in force. Reads the environment at the first call. All values but that of SIMT_GPU are decimal digits; an
// empty variable counts as not set. Any other value ends the process: a message on stderr and exit code 2.
const Settings& settings();

// Both answer cudaErrorSetOnActiveProcess after the first CUDA call that needed a device,
// cudaErrorInvalidValue for a number below one or above the most.
//
// The first CUDA call starts the worker threads. Where not all of them start (a limit on processes or on
// memory), those that did are ended, one line on stderr says how many there were, and that call and all later
// ones answer cudaErrorInitializationError.
cudaError_t set_device_count(int devices);
cudaError_t set_worker_count(int workers);

// The GPU whose limits all devices have from now on: threads, shared memory and compute capability, blocks and threads of a
// multiprocessor and how many of these there are, as the properties tell them and launches are checked. One of t4, a100,
// rtx4090, h100 and b200; empty: the executor's own, which are those of an h100 with a multiprocessor for each worker. Answers
// cudaErrorInvalidValue for another name, cudaErrorSetOnActiveProcess after the first CUDA call that needed a device.
//
// How many registers a kernel would use is not known here: a launch that a GPU refuses for lack of them goes through.
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

// The last fault of any kernel of this process; error == cudaSuccess when there was none.
Fault last_fault();

}  // namespace simt
