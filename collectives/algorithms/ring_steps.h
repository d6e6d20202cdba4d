// Ring: enqueues the steps of the ring on streams, for ring.cpp and hierarchical.cpp.
//
// Terms. A *rank* is a participant: a device (several ranks may share one), streams and a vector. A *chunk*
// is one of the n parts of the vector. In a *step* every rank sends one chunk to the next rank and receives
// one from the previous rank; there are 2(n-1) steps. A *segment* is a part of a chunk that fits a *slot*. A
// slot is scratch memory of a rank. The previous rank writes to the slots of the inbox; the rank itself fills
// the slots of its outbox and sends from them.
//
// ring_schedule.h computes which chunk each rank sends at which step. This file turns a step into work on
// streams. Each rank has two streams, one for copies and one for sums, so that one segment is added while the
// next one is in transit. No stream waits for the host and no kernel waits for another kernel. Events enforce
// the order:
//
//   delivered  rank r's copy is done                  -> rank r + 1 may use the segment
//   freed      rank r has read a slot of its inbox    -> rank r - 1 may fill the slot again
//   summed     rank r has filled a slot of its outbox -> rank r may send it
//   sent       rank r's outbox slot has been sent     -> rank r may fill it again
//
//   reduce-scatter   rank r's copies                 rank r + 1's sums
//                    wait for summed of r's outbox
//                    wait for freed of r + 1's inbox
//                    copy r's outbox to r + 1's inbox
//                    record delivered, sent          wait for delivered of r, sent of r + 1's outbox
//                                                    outbox = inbox + input
//                                                    record freed, summed
//   all-gather       copy r's output to r + 1's output
//                    record delivered                (rank r + 1's copies wait for it before they forward it)
//
// The first step sends the input unchanged. The last sum of the reduce-scatter is finished and written to the
// output: an average is divided, and partial sums wider than the data are rounded.
//
// In the all-gather a rank writes directly to the next rank's output without waiting for it. This is safe
// after a reduce-scatter: the finished chunk contains the next rank's share, so the next rank has started the
// operation and has read its own chunk, and events along the chunk's path order that read before this write.
// An all-gather alone first waits until the next rank has started.
//
// The ranks may also form several rings of m ranks, the groups of hierarchical.cpp, which run the same steps
// side by side. Then a rank's last sum stays unfinished in its outbox. First the groups' partial sums of a
// chunk are added and finished; then the finished chunks are gathered.
//
// Events are reused. A wait refers to the latest record at the time the wait is enqueued; later records do
// not change it. The loops below enqueue in exactly this order.
#pragma once

#include <rondo/collectives/collectives.h>
#include <rondo/collectives/operation_builder.h>

#include <ostream>

namespace rondo::ring {

// ", segment 3" in the name of a span; formatted only if a trace is active.
struct SegmentLabel {
  int64_t segment;  // -1: there is only one
  friend std::ostream& operator<<(std::ostream& out, SegmentLabel label) {
    return label.segment < 0 ? out : out << ", segment " << label.segment;
  }
};

// One ring of all ranks, or one ring per group of ranks.
enum class RingLayout { single, per_group };

class Ring {
 public:
  // Where a chunk lies: the index of its first element in every rank's input and in every rank's output.
  struct ChunkLocation {
    int64_t input_begin = 0;
    int64_t output_begin = 0;
    int64_t size = 0;
  };

  Ring(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs, Reduction reduction,
       RingLayout layout = RingLayout::single)
      : builder_(builder),
        communicator_(builder.communicator()),
        outputs_(outputs),
        inputs_(inputs),
        dtype_(outputs[0].dtype),
        reduction_(reduction),
        grouped_(layout == RingLayout::per_group),
        ring_size_(grouped_ ? communicator_.group_size() : communicator_.size()),
        partial_(ring_size_ == 1 ? dtype_ : accumulator_of(dtype_, reduction)) {}

  // Enqueues steps [first, last) over chunks of at most `chunk_size` elements. location_of(c) returns the
  // ChunkLocation of chunk c.
  template <class LocationOf>
  Status run(int first, int last, int64_t chunk_size, LocationOf location_of) {
    builder_.set_steps(first, last);
    RONDO_RETURN_IF_ERROR(begin(chunk_size, 0));
    for (segment_ = 0; segment_ < segments_.count; segment_ += kSlots)
      RONDO_RETURN_IF_ERROR(enqueue_steps(first, last, first == 0, location_of));
    return {};
  }

  // Enqueues all steps of rings in groups. After the reduce-scatter of every kSlots segments the outboxes
  // hold their partial sums. Then reduce_across_groups() is called: on the ranks' streams `sums` it
  // enqueues the work that adds the groups' partial sums and writes the finished sums to the outputs. It may
  // use the slots of the inboxes, which have room for `reserved` elements more than a segment.
  template <class LocationOf, class ReduceAcrossGroups>
  Status run_in_groups(int64_t chunk_size, int64_t reserved, LocationOf location_of,
                       ReduceAcrossGroups reduce_across_groups) {
    RONDO_RETURN_IF_ERROR(begin(chunk_size, reserved));
    for (segment_ = 0; segment_ < segments_.count; segment_ += kSlots) {
      RONDO_RETURN_IF_ERROR(enqueue_steps(0, ring_size_ - 1, true, location_of));
      RONDO_RETURN_IF_ERROR(reduce_across_groups());
      RONDO_RETURN_IF_ERROR(release_slots());
      RONDO_RETURN_IF_ERROR(enqueue_steps(ring_size_ - 1, steps(ring_size_), true, location_of));
    }
    return wait_for_previous();
  }

  // The segment whose partial sum is in outbox slot `slot` of the rank at position p: the input of
  // reduce_across_groups(). In a group of one rank the input is the partial sum; it is not copied or widened.
  struct PartialSegment {
    int rank;
    int chunk;            // the chunk that the rank owns
    Chunk range;          // the segment's elements within the chunk
    ConstDataView input;  // the segment of the rank's input
    DataView output;
    DataView partial_sum;  // in the outbox, or the input; of partial_type()
  };
  template <class LocationOf>
  PartialSegment partial_segment(int p, int slot, LocationOf location_of) const {
    const int rank = rank_at(p), chunk = next_position(p % ring_size_, ring_size_);
    const ChunkLocation location = location_of(chunk);
    const Chunk range = segment_of({0, location.size}, segments_, segment_ + slot);
    const ConstDataView own = input(rank, location, range);
    void* sum = ring_size_ == 1 ? const_cast<void*>(own.data)
                                : aligned_in_slot(communicator_.outbox(rank, slot), partial_, own);
    return {rank, chunk, range, own, output(rank, location, range), {sum, range.size, partial_}};
  }

  int ring_size() const { return ring_size_; }
  int rank_at(int position) const {
    return grouped_ ? communicator_.rank_in_groups(position) : communicator_.rank_at(position);
  }
  DType partial_type() const { return partial_; }

  // An address in a slot with the same offset from a 16-byte boundary, in elements, as `data`.
  static void* aligned_in_slot(void* slot, DType dtype, ConstDataView data) {
    return static_cast<std::byte*>(slot) + lead_of(data.data, data.dtype) * size_of(dtype);
  }

 private:
  Status begin(int64_t chunk_size, int64_t reserved) {
    const int64_t most = communicator_.slot_bytes() / std::max(size_of(partial_), size_of(dtype_)) - reserved;
    segments_ = segments_of(chunk_size, most, size_of(dtype_));
    for (int rank = 0; rank < communicator_.size(); ++rank) RONDO_RETURN_IF_ERROR(free_all_slots(rank));
    return {};
  }

  // Enqueues steps [first, last) for the next kSlots segments. `after_reduce_scatter`: the all-gather sends
  // the sums of a reduce-scatter of the same operation and has to wait for them.
  template <class LocationOf>
  Status enqueue_steps(int first, int last, bool after_reduce_scatter, LocationOf location_of) {
    for (int step = first; step < last; ++step)
      for (slot_ = 0; slot_ < kSlots; ++slot_) {
        for (int p = 0; p < communicator_.size(); ++p)
          RONDO_RETURN_IF_ERROR(
              send(p, step, location_of(sent_chunk(p % ring_size_, step, ring_size_)), after_reduce_scatter));
        for (int p = 0; p < communicator_.size(); ++p)
          RONDO_RETURN_IF_ERROR(
              receive(p, step, location_of(received_chunk(p % ring_size_, step, ring_size_))));
      }
    return {};
  }

  // After reduce_across_groups(): finished segments may be sent and inboxes filled again.
  Status release_slots() {
    for (int rank = 0; rank < communicator_.size(); ++rank) {
      const Communicator::Rank& r = communicator_.of(rank);
      for (size_t slot = 0; slot < kSlots; ++slot) {
        RONDO_RETURN_IF_ERROR(builder_.record(r.summed[slot], r.sums, rank));
        RONDO_RETURN_IF_ERROR(builder_.record(r.freed[slot], r.sums, rank));
      }
    }
    return {};
  }

  // OperationBuilder::join() waits for the previous rank in the ring of all ranks. In groups the previous
  // rank may be another one, so each rank's stream `sums` waits for that rank's sends here.
  Status wait_for_previous() {
    for (int p = 0; p < communicator_.size(); ++p) {
      const int rank = rank_at(p), prev = prev_rank(p);
      RONDO_RETURN_IF_ERROR(builder_.record_copied(prev));
      RONDO_RETURN_IF_ERROR(builder_.wait(communicator_.of(rank).sums, rank, builder_.copied(prev)));
    }
    return {};
  }

  Status free_all_slots(int rank) {
    const Communicator::Rank& r = communicator_.of(rank);
    for (size_t slot = 0; slot < kSlots; ++slot) {
      RONDO_RETURN_IF_ERROR(builder_.record(r.freed[slot], r.sums, rank));
      RONDO_RETURN_IF_ERROR(builder_.record(r.sent[slot], r.copies, rank));
    }
    return {};
  }

  // The rank at position p sends a segment to the next rank: of its own share in step 0, then of its partial
  // sums, then of the finished chunks.
  Status send(int p, int step, ChunkLocation location, bool after_reduce_scatter) {
    const Chunk segment = segment_of({0, location.size}, segments_, segment_ + slot_);
    if (segment.size == 0) return {};
    const int rank = rank_at(p), next = rank_at(group_of(p) + next_position(p % ring_size_, ring_size_));
    const Communicator::Rank& me = communicator_.of(rank);
    const Communicator::Rank& receiver = communicator_.of(next);
    const cudaStream_t copies = me.copies;
    const bool reducing = phase_of(step, ring_size_) == Phase::reduce_scatter;
    ConstDataView from;
    void* to = nullptr;
    if (reducing && step == 0) {
      from = input(rank, location, segment);
    } else if (reducing) {
      RONDO_RETURN_IF_ERROR(builder_.wait(copies, rank, me.summed[slot_]));
      from = {aligned_in_slot(communicator_.outbox(rank, slot()), partial_, input(rank, location, segment)),
              segment.size, partial_};
    } else {
      // Finished by this rank's own sum, or received in the previous step.
      if (step == ring_size_ - 1 && after_reduce_scatter)
        RONDO_RETURN_IF_ERROR(builder_.wait(copies, rank, me.summed[slot_]));
      if (step > ring_size_ - 1)
        RONDO_RETURN_IF_ERROR(builder_.wait(copies, rank, delivered(prev_rank(p), step - 1)));
      from = output(rank, location, segment);
    }
    if (reducing) {
      RONDO_RETURN_IF_ERROR(builder_.wait(copies, rank, receiver.freed[slot_]));
      to = aligned_in_slot(communicator_.inbox(next, slot()), from.dtype, input(next, location, segment));
    } else {
      to = output(next, location, segment).data;
    }
    RONDO_RETURN_IF_ERROR(builder_.copy(rank, copies, {to, next}, {from.data, rank}, from.bytes(),
                                        "send chunk ", sent_chunk(p % ring_size_, step, ring_size_), label(),
                                        " to rank ", next, ", step ", step));
    if (reducing && step > 0) RONDO_RETURN_IF_ERROR(builder_.record(me.sent[slot_], copies, rank));
    return builder_.record(delivered(rank, step), copies, rank);
  }

  // Reduce-scatter: the rank at position p adds a segment from the previous rank to its own share.
  // All-gather: nothing to do, because the previous rank wrote the segment to the output.
  Status receive(int p, int step, ChunkLocation location) {
    const Chunk segment = segment_of({0, location.size}, segments_, segment_ + slot_);
    if (segment.size == 0 || phase_of(step, ring_size_) == Phase::all_gather) return {};
    const int rank = rank_at(p);
    const Communicator::Rank& me = communicator_.of(rank);
    const ConstDataView own = input(rank, location, segment);
    ReduceArguments sum;
    sum.size = segment.size;
    void* inbox = communicator_.inbox(rank, slot());
    if (step == 0)
      sum.in[sum.inputs++] = aligned_in_slot(inbox, dtype_, own);
    else
      sum.partial_in = aligned_in_slot(inbox, partial_, own);
    sum.in[sum.inputs++] = own.data;
    RONDO_RETURN_IF_ERROR(builder_.wait(me.sums, rank, delivered(prev_rank(p), step)));
    if (step == ring_size_ - 2 && !grouped_) {
      sum.divisor = ring_size_;  // only a finished average is divided
      sum.out[sum.outputs++] = output(rank, location, segment).data;
    } else {
      RONDO_RETURN_IF_ERROR(builder_.wait(me.sums, rank, me.sent[slot_]));
      sum.partial_out = aligned_in_slot(communicator_.outbox(rank, slot()), partial_, own);
    }
    RONDO_RETURN_IF_ERROR(builder_.sum(rank, me.sums, dtype_, reduction_, SumOrder::left_to_right, sum,
                                       "add chunk ", received_chunk(p % ring_size_, step, ring_size_),
                                       label(), ", step ", step));
    RONDO_RETURN_IF_ERROR(builder_.record(me.freed[slot_], me.sums, rank));
    return builder_.record(me.summed[slot_], me.sums, rank);
  }

  int slot() const { return static_cast<int>(slot_); }
  SegmentLabel label() const { return {segments_.count > 1 ? segment_ + slot() : -1}; }
  int group_of(int p) const { return p - p % ring_size_; }  // the position of the group's first rank
  int prev_rank(int p) const { return rank_at(group_of(p) + prev_position(p % ring_size_, ring_size_)); }
  cudaEvent_t delivered(int rank, int step) const {
    return communicator_.of(rank).delivered[static_cast<size_t>(step * kSlots) + slot_];
  }
  ConstDataView input(int rank, ChunkLocation location, Chunk segment) const {
    return inputs_[static_cast<size_t>(rank)].part(location.input_begin + segment.begin, segment.size);
  }
  DataView output(int rank, ChunkLocation location, Chunk segment) const {
    return outputs_[static_cast<size_t>(rank)].part(location.output_begin + segment.begin, segment.size);
  }

  OperationBuilder& builder_;
  Communicator& communicator_;
  RankOutputs outputs_;
  RankInputs inputs_;
  DType dtype_;
  Reduction reduction_;
  bool grouped_;
  int ring_size_;  // number of ranks in a ring
  DType partial_;
  Segments segments_;
  int64_t segment_ = 0;  // segment_ + slot_ is the segment being enqueued
  size_t slot_ = 0;
};

}  // namespace rondo::ring
