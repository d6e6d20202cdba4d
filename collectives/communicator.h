// Communicator: the ranks that take part in collective operations.
#pragma once

#include <rondo/collectives/communicator_options.h>
#include <rondo/collectives/peer_access.h>
#include <rondo/collectives/types.h>
#include <rondo/kernels/runtime/buffer.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace rondo {

class ProcessGroup;
class RankResources;
class Trace;

// Checks that each rank's device exists on this machine. The error message begins with `owner`.
Status check_devices(const char* owner, std::span<const int> devices);

// Rank r works on devices[r]. A device may appear several times: no kernel of a collective spins, so the work
// of ranks that share a device runs one after the other.
//
// Several host threads may call operations on one communicator. Each operation is enqueued as a whole.
// Operations run in the order in which they were enqueued, whatever the callers' streams. This does not
// extend to captured graphs: the caller must order replays that use the same communicator. Communicators are
// independent of each other; several may be used at the same time, also on the same devices.
//
// The constructor allocates device memory and throws rondo::Error. Operations allocate no device memory. The
// communicator must outlive the work enqueued on it and every graph that recorded it.
class Communicator {
 public:
  explicit Communicator(std::vector<int> devices, CommunicatorOptions options = {});
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int size() const;
  int device(int rank) const;
  // With slot_bytes rounded up, and values instead of the defaults 0 and {}.
  const CommunicatorOptions& options() const;

  // Whether kernels and copies of the two ranks can access each other's memory, verified by a trial
  // (peer_access.h). If not, copies are staged through the host.
  bool reaches(int rank, int other) const;
  bool all_reach_all() const;

  int group_size() const { return options().group_size; }
  // The number of ranks of all processes.
  int total_size() const;

  // Device memory per rank of a communicator with `ranks` ranks. Throws a bad_argument Error if the arguments
  // are invalid.
  static int64_t bytes_per_rank(int ranks, const CommunicatorOptions& options);

  // Operations record their copies and sums in `trace`, in the rows "copies" and "sums" of each rank. null:
  // no trace. The trace must have at least size() ranks and stay valid until it is replaced.
  void set_trace(Trace* trace);

  // Blocks the host until all work enqueued on `streams`, one per rank, is done. If a rank's device has
  // failed, or the caller's, returns device_failed: the results of all ranks are invalid. After `timeout`,
  // returns timed_out; the message names the first unfinished operation, the ranks that have not arrived at
  // it, and the progress of the others. In both cases the communicator is aborted.
  //
  // A stream that is being captured is a bad_argument: what is captured does not run. So is any other stream
  // that CUDA refuses to query, such as the default stream while a blocking stream of its device is captured.
  // Then nothing has changed, and wait() may be called again.
  //
  // A rank that never arrives is detected only if some thread can still call wait(): see "Queues" in
  // collectives.h.
  Status wait(RankStreams streams, std::chrono::milliseconds timeout);

  // All later operations return `reason`. Work that is already enqueued cannot be cancelled and may outlive
  // the communicator, so the communicator's memory is leaked on purpose. A new communicator can be made at
  // once, unless cudaMalloc waits for the device (docs/gpu.md, "Allocations").
  void abort(Status reason);

  // ok, or the reason for which the communicator was aborted.
  Status state() const;

  // What the operations work with; not for their callers.
  RankResources& resources() const { return *resources_; }

 private:
  std::string timeout_message(std::chrono::milliseconds timeout) const;

  std::unique_ptr<RankResources> resources_;
  Status state_;
  mutable std::mutex state_mutex_;  // protects state_; never held while work is enqueued
};

}  // namespace rondo
