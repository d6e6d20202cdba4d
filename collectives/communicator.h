// Communicator: the ranks that take part in a collective operation, and the scratch memory between them.
#pragma once

#include <rondo/collectives/ring_schedule.h>
#include <rondo/kernels/core/buffer.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo {

class Trace;

// Rank r works on devices[r]. A device may appear several times: nothing in a collective spins, so ranks that
// share a device just take turns.
//
// A communicator serves one operation after the other. Operations on it are enqueued by one host thread at a
// time, and rank r's part of an operation must come after its part of the one before it in stream order: use
// the same stream, or order the two by events. Communicators do not know of each other; several may be used
// at the same time, on the same devices too.
//
// It owns device memory and therefore throws rondo::Error where it is made. Operations on it allocate
// nothing. It must outlive the work that was enqueued on it, and every graph that recorded it.
class Communicator {
 public:
  static constexpr int64_t kDefaultSlotBytes = int64_t{4} << 20;

  // Every rank gets ring::kSlots slots of `slot_bytes` (at least 16; rounded down to a multiple of 16). Data
  // of more than size() * slot_bytes goes round in several passes, each with its own latency: for large data
  // make a slot as large as the data divided by the number of ranks. Devices that can reach each other's
  // memory are connected; the others' copies go through the host.
  explicit Communicator(std::vector<int> devices, int64_t slot_bytes = kDefaultSlotBytes);

  int size() const { return static_cast<int>(ranks_.size()); }
  int device(int rank) const { return of(rank).device; }
  int64_t slot_bytes() const { return slot_bytes_; }

  // Operations record their copies and sums into `trace` (rank r's under rank r, stream "ring"); null: they
  // don't. The trace must have at least size() ranks and outlive its use here.
  void set_trace(Trace* trace) { trace_ = trace; }

  // The rest is for the algorithms.
  Trace* trace() const { return trace_; }
  // Memory of `rank`, which its left neighbour fills and the rank empties.
  std::byte* slot(int rank, int index) { return of(rank).slots.data() + index * slot_bytes_; }
  // Recorded on the rank's stream when it has read the slot, so that it may be filled anew.
  cudaEvent_t freed(int rank, int index) const { return of(rank).freed[static_cast<size_t>(index)]; }
  // Recorded on the rank's stream when its copy to the right neighbour is done.
  cudaEvent_t sent(int rank) const { return of(rank).sent; }

 private:
  struct Rank {
    int device = 0;
    Buffer<std::byte> slots;
    std::array<Event, ring::kSlots> freed;
    Event sent;
  };

  Rank& of(int rank) { return ranks_[static_cast<size_t>(rank)]; }
  const Rank& of(int rank) const { return ranks_[static_cast<size_t>(rank)]; }

  int64_t slot_bytes_;
  std::vector<Rank> ranks_;
  Trace* trace_ = nullptr;
};

}  // namespace rondo
