// Communicator: the ranks that take part in collective operations, and what the algorithms need between them.
#pragma once

#include <rondo/collectives/algorithm.h>
#include <rondo/collectives/operation_tracker.h>
#include <rondo/collectives/models/cost_model.h>
#include <rondo/collectives/peer_access.h>
#include <rondo/collectives/algorithms/ring_schedule.h>
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
  // Every rank gets 2 * ring::kSlots slots of this size, rounded up to 16 bytes. Chunks go round in segments of
  // at most a slot, each with its own latency: large slots are quicker and small ones stay in the cache.
  int64_t slot_bytes = int64_t{4} << 20;
  // Size of the bucket into which all_reduce_coalesced() fuses small buffers; 0: such calls are refused.
  int64_t bucket_bytes = int64_t{4} << 20;
  // ring_order[p] is the rank at position p of the ring; empty: 0, 1, 2, ... ring_order.h finds a good one.
  std::vector<int> ring_order = {};
  // What Algorithm::automatic decides by. slot_bytes and ranks_share_one_memory are set by the communicator itself.
  LinkConstants links = {};
  // Of the algorithm `hierarchical`: ranks 0 .. m-1 are group 0, the next m are group 1, and so on, each in the order
  // in which ring_order names them. Must divide the number of ranks; 0: all ranks are one group.
  int group_size = 0;
  // Several processes, on one host or many, make their communicators together, with as many ranks each: the ranks are
  // then numbered through, process by process, and each process is a group. Its own are given and asked for as ranks
  // 0 .. size()-1 everywhere here. Only all_reduce() and all_reduce_coalesced() reach across. The group must outlive it.
  ProcessGroup* processes = nullptr;
};

// Checks that this machine has the device of each rank. The message begins with `owner`.
Status check_devices(const char* owner, std::span<const int> devices);

// Rank r works on devices[r]. A device may appear several times: nothing in a collective spins, so ranks that
// share a device just take turns.
//
// Operations on a communicator may be called from several host threads; each is enqueued as a whole, and they
// run in the order in which they were enqueued, whatever the callers' streams. That order does not reach into
// recorded graphs: replays that use the same communicator must be ordered by the caller. Communicators do not
// know of each other; several may be used at the same time, on the same devices too.
//
// It owns device memory and therefore throws rondo::Error where it is made. Operations on it allocate
// nothing. It must outlive the work that was enqueued on it, and every graph that recorded it.
class Communicator {
 public:
  explicit Communicator(std::vector<int> devices, CommunicatorOptions options = {});
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int size() const { return static_cast<int>(ranks_.size()); }
  int device(int rank) const { return of(rank).device; }
  const CommunicatorOptions& options() const { return options_; }

  // Whether kernels of `rank` reach the memory of `other`: tried, not believed (peer_access.h). Where they don't,
  // copies are staged through the host.
  bool reaches(int rank, int other) const;
  bool all_reach_all() const { return all_reach_all_; }

  int group_size() const { return options_.group_size; }
  // Over all processes.
  int total_size() const;

  // Device memory that a communicator of so many ranks takes on each. Throws a bad_argument Error where there
  // can be no such communicator.
  static int64_t bytes_per_rank(int ranks, const CommunicatorOptions& options);

  // Operations record their copies and sums into `trace` (rank r's under rank r, streams "copies" and "sums");
  // null: they don't. The trace must have at least size() ranks and outlive its use here.
  void set_trace(Trace* trace) { trace_ = trace; }

  // Waits on the host until everything that was enqueued on `streams`, one a rank, is done. When a rank's device
  // has failed, the answer is device_failed for all of them: no rank's result can be trusted. When `timeout` is
  // over, it is timed_out and names the first operation that is not done, the ranks that have not arrived at it, and how
  // far the others came. In both cases the communicator is aborted. A rank that never arrives is seen only by
  // a thread that can call this: see "Queues" in collectives.h.
  Status wait(std::span<const cudaStream_t> streams, std::chrono::milliseconds timeout);

  // From now on every operation is refused with `reason`. Work that is enqueued already can't be taken back;
  // it may outlive the communicator, so its memory is then not freed. A new communicator can be made at once,
  // unless cudaMalloc waits for the device (docs/gpu.md, "Allocations").
  void abort(Status reason);

  // ok, or why the communicator was aborted.
  Status state() const;

  // ---- The rest is for the algorithms, under the lock of an OperationBuilder (enqueue.h). ----

  struct Rank {
    int device = 0;
    Buffer<std::byte> scratch;     // the inbox's slots, then the outbox's, then the bucket
    Stream copies, sums;           // the rank's own streams: what it sends, what it computes
    std::vector<Event> delivered;  // at step * kSlots + slot: the segment is in the right neighbour's memory
    std::array<Event, ring::kSlots> freed;   // the inbox's slot has been read
    std::array<Event, ring::kSlots> summed;  // the outbox's slot has been filled
    std::array<Event, ring::kSlots> sent;    // the outbox's slot has been sent
    Event arrived, met;                      // join_sums(): this rank has come, all have (rank 0's)
    Event begun;                             // fork() inside an operation that is made of several
  };
  Rank& of(int rank) { return ranks_[static_cast<size_t>(rank)]; }
  const Rank& of(int rank) const { return ranks_[static_cast<size_t>(rank)]; }

  int64_t slot_bytes() const { return options_.slot_bytes; }
  std::byte* inbox(int rank, int slot) { return of(rank).scratch.data() + slot * slot_stride(options_); }
  std::byte* outbox(int rank, int slot) { return inbox(rank, ring::kSlots + slot); }
  std::byte* bucket(int rank) { return inbox(rank, 0) + slots_bytes(size(), options_); }
  int rank_at(int position) const { return options_.ring_order[static_cast<size_t>(position)]; }
  // Positions group_size() * g and up are those of the ring in group g.
  int rank_in_groups(int position) const { return group_order_[static_cast<size_t>(position)]; }
  // What goes to other processes; null where there are none.
  Exchange* exchange() const { return exchange_.get(); }
  Trace* trace() const { return trace_; }

  OperationTracker& tracker() { return tracker_; }
  std::mutex& mutex() const { return mutex_; }

 private:
  static int64_t slot_stride(const CommunicatorOptions& options);
  static int64_t slots_bytes(int ranks, const CommunicatorOptions& options);
  std::string what_is_missing(std::chrono::milliseconds timeout) const;
  std::string progress(const OperationTracker::Operation& operation) const;

  CommunicatorOptions options_;
  std::vector<Rank> ranks_;
  OperationTracker tracker_;
  std::vector<int> group_order_;
  bool all_reach_all_ = true;
  std::vector<bool> reaches_;  // [rank * size() + other]
  Trace* trace_ = nullptr;
  Status state_;
  mutable std::mutex state_mutex_;  // of state_; never held while something is enqueued
  mutable std::mutex mutex_;        // held while an operation is enqueued, which blocks where a queue is full
  std::unique_ptr<Exchange> exchange_;
};

}  // namespace rondo
