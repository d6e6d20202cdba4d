// Communicator: the ranks that take part in collective operations, with their streams, events and scratch
// memory.
#pragma once

#include <rondo/collectives/algorithm.h>
#include <rondo/collectives/algorithms/ring_schedule.h>
#include <rondo/collectives/models/cost_model.h>
#include <rondo/collectives/operation_tracker.h>
#include <rondo/collectives/peer_access.h>
#include <rondo/kernels/runtime/buffer.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace rondo {

class Exchange;
class ProcessGroup;
class Trace;

struct CommunicatorOptions {
  // Every rank gets 2 * ring::kSlots slots of this size, rounded up to 16 bytes. Chunks are sent in segments
  // of at most a slot, each with its own latency: large slots are faster, small slots stay in the cache.
  int64_t slot_bytes = int64_t{4} << 20;
  // Size of the bucket into which all_reduce_coalesced() packs small buffers. 0: all_reduce_coalesced()
  // returns bad_argument.
  int64_t bucket_bytes = int64_t{4} << 20;
  // ring_order[p] is the rank at position p of the ring. Empty: 0, 1, 2, ... ring_order.h searches for a good
  // one.
  std::vector<int> ring_order = {};
  // Input of Algorithm::automatic. The communicator sets slot_bytes and ranks_share_one_memory itself.
  LinkConstants links = {};
  // For the algorithm `hierarchical`: ranks 0 .. m-1 are group 0, the next m ranks group 1, and so on. Inside
  // a group the order is that of ring_order. Must divide the number of ranks. 0: all ranks are one group.
  int group_size = 0;
  // Connects the communicators of several processes, on one host or many. All processes must construct theirs
  // together, with the same number of ranks each. Ranks are numbered process by process and each process is
  // one group. The functions of Communicator number only the ranks of this process, always 0 .. size()-1.
  // Only all_reduce() and all_reduce_coalesced() work across processes. The process group must outlive the
  // communicator.
  ProcessGroup* processes = nullptr;
};

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
// The constructor allocates device memory and throws rondo::Error. Operations allocate nothing. The
// communicator must outlive the work enqueued on it and every graph that recorded it.
class Communicator {
 public:
  explicit Communicator(std::vector<int> devices, CommunicatorOptions options = {});
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int size() const { return static_cast<int>(ranks_.size()); }
  int device(int rank) const { return of(rank).device; }
  const CommunicatorOptions& options() const { return options_; }

  // Whether kernels and copies of the two ranks can access each other's memory, verified by a trial
  // (peer_access.h). If not, copies are staged through the host.
  bool reaches(int rank, int other) const;
  bool all_reach_all() const { return all_reach_all_; }

  int group_size() const { return options_.group_size; }
  // The number of ranks of all processes.
  int total_size() const;

  // Device memory per rank of a communicator with `ranks` ranks. Throws a bad_argument Error if the arguments
  // are invalid.
  static int64_t bytes_per_rank(int ranks, const CommunicatorOptions& options);

  // Operations record their copies and sums in `trace`, in the rows "copies" and "sums" of each rank. null:
  // no trace. The trace must have at least size() ranks and stay valid until it is replaced.
  void set_trace(Trace* trace) { trace_ = trace; }

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
  Status wait(std::span<const cudaStream_t> streams, std::chrono::milliseconds timeout);

  // All later operations return `reason`. Work that is already enqueued cannot be cancelled and may outlive
  // the communicator, so the communicator's memory is leaked on purpose. A new communicator can be made at
  // once, unless cudaMalloc waits for the device (docs/gpu.md, "Allocations").
  void abort(Status reason);

  // ok, or the reason for which the communicator was aborted.
  Status state() const;

  // ---- The rest is for the algorithms, under the lock of an OperationBuilder (operation_builder.h). ----

  struct Rank {
    int device = 0;
    Buffer<std::byte> scratch;     // slots of the inbox, slots of the outbox, bucket
    Stream copies, sums;           // the rank's own streams: for sends, for computation
    std::vector<Event> delivered;  // [step * kSlots + slot]: the segment is in the next rank's memory
    std::array<Event, ring::kSlots> freed;   // the inbox's slot has been read
    std::array<Event, ring::kSlots> summed;  // the outbox's slot has been filled
    std::array<Event, ring::kSlots> sent;    // the outbox's slot has been sent
    // arrived: this rank has reached join_sums(). all_arrived (only rank 0's is used): all ranks have reached
    // a barrier.
    Event arrived, all_arrived;
    Event suboperation_begun;  // fork() inside an operation that consists of several
  };
  Rank& of(int rank) { return ranks_[static_cast<size_t>(rank)]; }
  const Rank& of(int rank) const { return ranks_[static_cast<size_t>(rank)]; }

  int64_t slot_bytes() const { return options_.slot_bytes; }
  std::byte* inbox(int rank, int slot) { return of(rank).scratch.data() + slot * slot_stride(options_); }
  std::byte* outbox(int rank, int slot) { return inbox(rank, ring::kSlots + slot); }
  std::byte* bucket(int rank) { return inbox(rank, 0) + inbox_and_outbox_bytes(size(), options_); }
  int rank_at(int position) const { return options_.ring_order[static_cast<size_t>(position)]; }
  // Positions g * group_size() .. (g + 1) * group_size() - 1 are the ring of group g.
  int rank_in_groups(int position) const { return group_order_[static_cast<size_t>(position)]; }
  // The exchange with other processes; null with a single process.
  Exchange* exchange() const { return exchange_.get(); }
  Trace* trace() const { return trace_; }

  OperationTracker& tracker() { return tracker_; }
  std::mutex& mutex() const { return mutex_; }

 private:
  static int64_t slot_stride(const CommunicatorOptions& options);
  // Bytes of all slots of a rank.
  static int64_t inbox_and_outbox_bytes(int ranks, const CommunicatorOptions& options);
  std::string timeout_message(std::chrono::milliseconds timeout) const;
  std::string progress(const OperationTracker::Operation& operation) const;

  CommunicatorOptions options_;
  std::vector<Rank> ranks_;
  OperationTracker tracker_;
  std::vector<int> group_order_;
  bool all_reach_all_ = true;
  std::vector<bool> reaches_;  // [rank * size() + other]
  Trace* trace_ = nullptr;
  Status state_;
  mutable std::mutex state_mutex_;  // protects state_; never held while work is enqueued
  mutable std::mutex mutex_;        // held while an operation is enqueued, which blocks if a queue is full
  std::unique_ptr<Exchange> exchange_;
};

}  // namespace rondo
