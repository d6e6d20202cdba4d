// RankResources: the streams, events and scratch memory of a communicator's ranks, and what else its
// operations share.
#pragma once

#include <rondo/collectives/communicator_options.h>
#include <rondo/collectives/operation_tracker.h>
#include <rondo/collectives/ring_schedule.h>
#include <rondo/kernels/core/indexed.h>
#include <rondo/kernels/runtime/buffer.h>

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace rondo {

class Exchange;
class Trace;

class RankResources {
 public:
  // Rank r works on devices[r]. Throws rondo::Error.
  RankResources(std::span<const int> devices, const CommunicatorOptions& options);
  ~RankResources();
  RankResources(const RankResources&) = delete;
  RankResources& operator=(const RankResources&) = delete;

  // Device memory per rank. Throws a bad_argument Error if the arguments are invalid.
  static int64_t bytes_per_rank(int ranks, const CommunicatorOptions& options);

  int size() const { return ranks_.count(); }
  // With values instead of the defaults 0 and {}.
  const CommunicatorOptions& options() const { return options_; }

  using SlotEvents = Indexed<std::array<Event, ring::kSlots>>;
  struct Rank {
    int device = 0;
    Buffer<std::byte> scratch;                   // slots of the inbox, slots of the outbox, bucket
    Stream copies, sums;                         // the rank's own streams: for sends, for computation
    SlotEvents freed;                            // the inbox's slot has been read
    SlotEvents summed;                           // the outbox's slot has been filled
    SlotEvents sent;                             // the outbox's slot has been sent
    Indexed<std::vector<SlotEvents>> delivered;  // [step][slot]: the segment is in the next rank's memory
    Event entered_inner;  // the rank has begun an operation inside an operation (OperationBuilder::nested())
    Event arrived;        // the rank has reached join_sums()
    Event all_arrived;    // all ranks have reached a barrier; only rank 0's is used
  };
  Rank& of(int rank) { return ranks_[rank]; }
  const Rank& of(int rank) const { return ranks_[rank]; }

  std::byte* inbox(int rank, int slot) { return of(rank).scratch.data() + slot * slot_stride(options_); }
  std::byte* outbox(int rank, int slot) { return inbox(rank, ring::kSlots + slot); }
  std::byte* bucket(int rank) { return inbox(rank, 0) + inbox_and_outbox_bytes(size(), options_); }

  int rank_at(int position) const { return ring_order_[position]; }
  // Positions g * m .. (g + 1) * m - 1 are the ring of group g, with m = options().group_size.
  int rank_in_groups(int position) const { return group_order_[position]; }

  bool reaches(int rank, int other) const { return reaches_[rank * size() + other]; }
  bool all_reach_all() const { return all_reach_all_; }

  // The exchange with other processes; null with a single process.
  Exchange* exchange() const { return exchange_.get(); }

  Trace* trace() const { return trace_; }
  void set_trace(Trace* trace) { trace_ = trace; }
  OperationTracker& tracker() { return tracker_; }
  std::mutex& mutex() { return mutex_; }

 private:
  static int64_t slot_stride(const CommunicatorOptions& options);
  // Bytes of all slots of a rank.
  static int64_t inbox_and_outbox_bytes(int ranks, const CommunicatorOptions& options);
  void add_rank(int device, int ranks);
  void connect_ranks();

  CommunicatorOptions options_;
  OperationTracker tracker_;
  PerRank<Rank> ranks_;
  PerRank<int> ring_order_, group_order_;
  Indexed<std::vector<bool>> reaches_;
  bool all_reach_all_ = true;
  Trace* trace_ = nullptr;
  std::mutex mutex_;  // held while an operation is enqueued, which blocks if a queue is full
  std::unique_ptr<Exchange> exchange_;
};

}  // namespace rondo
