// Ring: enqueues the steps of the ring on streams, for ring.cpp and hierarchical.cpp. README.md explains the
// words rank, chunk, step, segment, slot, inbox and outbox.
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
// In the all-gather a rank writes to the next rank's output and does not wait for that rank. This is safe
// after a reduce-scatter: the finished chunk contains the next rank's share, so that rank has started the
// operation and has read its own chunk. The events along the chunk's path put this read before the write. An
// all-gather alone has no such events; it first waits until the next rank has started.
//
// The ranks may also form several rings of m ranks, the groups of hierarchical.cpp. All rings run the same
// steps. A rank's last sum then stays unfinished in its outbox. The groups' partial sums of a chunk are added
// and finished before the all-gather.
//
// Events are reused. A wait refers to the last record that was enqueued before the wait; later records do not
// change it. So the order of the calls in the loops below matters.
#pragma once

#include <rondo/collectives/operation_builder.h>
#include <rondo/collectives/ring_schedule.h>
#include <rondo/collectives/types.h>

#include <algorithm>
#include <ostream>

namespace rondo::ring {

// ", segment 3" in the name of a span; formatted only if a trace is active.
struct SegmentLabel {
  int64_t segment;  // -1: there is only one
  friend std::ostream& operator<<(std::ostream& out, SegmentLabel label) {
    return label.segment < 0 ? out : out << ", segment " << label.segment;
  }
};

// Where a chunk lies: the index of its first element in every rank's input and in every rank's output.
struct ChunkLocation {
  int64_t input_begin = 0;
  int64_t output_begin = 0;
  int64_t size = 0;
};

// The n chunks of an all-reduce of `size` elements.
inline PerRank<ChunkLocation> chunks_of(int64_t size, int n, DType dtype) {
  PerRank<ChunkLocation> chunks;
  for (int index = 0; index < n; ++index) {
    const Chunk chunk = chunk_of(size, n, index, size_of(dtype));
    chunks.push_back({chunk.begin, chunk.begin, chunk.size});
  }
  return chunks;
}

// One ring of all ranks, or one ring per group of ranks.
enum class RingLayout { single, per_group };

class Ring {
 public:
  // `chunks`: one for each rank of a ring.
  Ring(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs, Reduction reduction,
       PerRank<ChunkLocation> chunks, RingLayout layout = RingLayout::single)
      : builder_(builder),
        resources_(builder.resources()),
        outputs_(outputs),
        inputs_(inputs),
        chunks_(std::move(chunks)),
        dtype_(outputs[0].dtype),
        reduction_(reduction),
        grouped_(layout == RingLayout::per_group),
        ring_size_(chunks_.count()),
        partial_(ring_size_ == 1 ? dtype_ : accumulator_of(dtype_, reduction)) {}

  // Enqueues steps [first, last).
  Status run(int first, int last) {
    builder_.set_steps(first, last);
    RONDO_RETURN_IF_ERROR(begin(0));
    for (segment_ = 0; segment_ < segments_.count; segment_ += kSlots)
      RONDO_RETURN_IF_ERROR(enqueue_steps(first, last, first == 0));
    return {};
  }

  // Enqueues all steps of rings in groups. After the reduce-scatter of every kSlots segments the outboxes
  // hold their partial sums. Then reduce_across_groups() is called: on the ranks' streams `sums` it
  // enqueues the work that adds the groups' partial sums and writes the finished sums to the outputs. It may
  // use the slots of the inboxes, which have room for `reserved` elements more than a segment.
  template <class ReduceAcrossGroups>
  Status run_in_groups(int64_t reserved, ReduceAcrossGroups reduce_across_groups) {
    RONDO_RETURN_IF_ERROR(begin(reserved));
    for (segment_ = 0; segment_ < segments_.count; segment_ += kSlots) {
      RONDO_RETURN_IF_ERROR(enqueue_steps(0, ring_size_ - 1, true));
      RONDO_RETURN_IF_ERROR(reduce_across_groups());
      RONDO_RETURN_IF_ERROR(release_slots());
      RONDO_RETURN_IF_ERROR(enqueue_steps(ring_size_ - 1, steps(ring_size_), true));
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
  PartialSegment partial_segment(int p, int slot) const {
    const int rank = rank_at(p), chunk = next_position(p % ring_size_, ring_size_);
    const Chunk range = segment_of({0, chunks_[chunk].size}, segments_, segment_ + slot);
    const ConstDataView own = input(rank, chunk, range);
    void* sum = ring_size_ == 1 ? const_cast<void*>(own.data)
                                : aligned_in_slot(resources_.outbox(rank, slot), partial_, own);
    return {rank, chunk, range, own, output(rank, chunk, range), {sum, range.size, partial_}};
  }

  int ring_size() const { return ring_size_; }
  int groups() const { return builder_.ranks() / ring_size_; }
  DType dtype() const { return dtype_; }
  DType partial_type() const { return partial_; }
  Reduction reduction() const { return reduction_; }

  // An address in a slot with the same offset from a 16-byte boundary, in elements, as `data`.
  static void* aligned_in_slot(void* slot, DType dtype, ConstDataView data) {
    return static_cast<std::byte*>(slot) + lead_of(data.data, data.dtype) * size_of(dtype);
  }

 private:
  Status begin(int64_t reserved) {
    const auto by_size = [](const ChunkLocation& a, const ChunkLocation& b) { return a.size < b.size; };
    const int64_t chunk_size = std::max_element(chunks_.begin(), chunks_.end(), by_size)->size;
    const int64_t most =
        resources_.options().slot_bytes / std::max(size_of(partial_), size_of(dtype_)) - reserved;
    segments_ = segments_of(chunk_size, most, size_of(dtype_));
    for (int rank = 0; rank < builder_.ranks(); ++rank) {
      const RankResources::Rank& r = resources_.of(rank);
      for (int slot = 0; slot < kSlots; ++slot) {
        RONDO_RETURN_IF_ERROR(builder_.record(r.freed[slot], r.sums, rank));
        RONDO_RETURN_IF_ERROR(builder_.record(r.sent[slot], r.copies, rank));
      }
    }
    return {};
  }

  // Enqueues steps [first, last) for the next kSlots segments. `after_reduce_scatter`: the all-gather sends
  // the sums of a reduce-scatter of the same operation and has to wait for them.
  Status enqueue_steps(int first, int last, bool after_reduce_scatter) {
    for (int step = first; step < last; ++step)
      for (slot_ = 0; slot_ < kSlots; ++slot_) {
        for (int p = 0; p < builder_.ranks(); ++p) RONDO_RETURN_IF_ERROR(send(p, step, after_reduce_scatter));
        for (int p = 0; p < builder_.ranks(); ++p) RONDO_RETURN_IF_ERROR(receive(p, step));
      }
    return {};
  }

  // After reduce_across_groups(): finished segments may be sent and inboxes filled again.
  Status release_slots() {
    for (int rank = 0; rank < builder_.ranks(); ++rank) {
      const RankResources::Rank& r = resources_.of(rank);
      for (int slot = 0; slot < kSlots; ++slot) {
        RONDO_RETURN_IF_ERROR(builder_.record(r.summed[slot], r.sums, rank));
        RONDO_RETURN_IF_ERROR(builder_.record(r.freed[slot], r.sums, rank));
      }
    }
    return {};
  }

  // OperationBuilder::join() waits for the previous rank in the ring of all ranks. In groups the previous
  // rank may be another one, so each rank's stream `sums` waits for that rank's sends here.
  Status wait_for_previous() {
    for (int p = 0; p < builder_.ranks(); ++p) {
      const int rank = rank_at(p), prev = prev_rank(p);
      RONDO_RETURN_IF_ERROR(builder_.record_copied(prev));
      RONDO_RETURN_IF_ERROR(builder_.wait(builder_.sums(rank), rank, builder_.copied(prev)));
    }
    return {};
  }

  // The rank at position p sends a segment to the next rank: of its own share in step 0, then of its partial
  // sums, then of the finished chunks.
  Status send(int p, int step, bool after_reduce_scatter) {
    const int chunk = sent_chunk(p % ring_size_, step, ring_size_);
    const Chunk segment = segment_of({0, chunks_[chunk].size}, segments_, segment_ + slot_);
    if (segment.size == 0) return {};
    const int rank = rank_at(p), next = rank_at(group_of(p) + next_position(p % ring_size_, ring_size_));
    const RankResources::Rank& me = resources_.of(rank);
    const cudaStream_t copies = me.copies;
    const bool reducing = phase_of(step, ring_size_) == Phase::reduce_scatter;
    ConstDataView from;
    void* to = nullptr;
    if (reducing && step == 0) {
      from = input(rank, chunk, segment);
    } else if (reducing) {
      RONDO_RETURN_IF_ERROR(builder_.wait(copies, rank, me.summed[slot_]));
      from = {aligned_in_slot(resources_.outbox(rank, slot_), partial_, input(rank, chunk, segment)),
              segment.size, partial_};
    } else {
      // Finished by this rank's own sum, or received in the previous step.
      if (step == ring_size_ - 1 && after_reduce_scatter)
        RONDO_RETURN_IF_ERROR(builder_.wait(copies, rank, me.summed[slot_]));
      if (step > ring_size_ - 1)
        RONDO_RETURN_IF_ERROR(builder_.wait(copies, rank, delivered(prev_rank(p), step - 1)));
      from = output(rank, chunk, segment);
    }
    if (reducing) {
      RONDO_RETURN_IF_ERROR(builder_.wait(copies, rank, resources_.of(next).freed[slot_]));
      to = aligned_in_slot(resources_.inbox(next, slot_), from.dtype, input(next, chunk, segment));
    } else {
      to = output(next, chunk, segment).data;
    }
    RONDO_RETURN_IF_ERROR(builder_.copy(rank, copies, next, to, rank, from, "send chunk ", chunk, label(),
                                        " to rank ", next, ", step ", step));
    if (reducing && step > 0) RONDO_RETURN_IF_ERROR(builder_.record(me.sent[slot_], copies, rank));
    return builder_.record(delivered(rank, step), copies, rank);
  }

  // Reduce-scatter: the rank at position p adds a segment from the previous rank to its own share.
  // All-gather: nothing to do, because the previous rank wrote the segment to the output.
  Status receive(int p, int step) {
    const int chunk = received_chunk(p % ring_size_, step, ring_size_);
    const Chunk segment = segment_of({0, chunks_[chunk].size}, segments_, segment_ + slot_);
    if (segment.size == 0 || phase_of(step, ring_size_) == Phase::all_gather) return {};
    const int rank = rank_at(p);
    const RankResources::Rank& me = resources_.of(rank);
    const ConstDataView own = input(rank, chunk, segment);
    ReduceArguments sum;
    sum.size = segment.size;
    void* inbox = resources_.inbox(rank, slot_);
    if (step == 0)
      sum.read(aligned_in_slot(inbox, dtype_, own));
    else
      sum.partial_in = aligned_in_slot(inbox, partial_, own);
    sum.read(own.data);
    RONDO_RETURN_IF_ERROR(builder_.wait(me.sums, rank, delivered(prev_rank(p), step)));
    if (step == ring_size_ - 2 && !grouped_) {
      sum.divisor = ring_size_;  // only a finished average is divided
      sum.write(output(rank, chunk, segment).data);
    } else {
      RONDO_RETURN_IF_ERROR(builder_.wait(me.sums, rank, me.sent[slot_]));
      sum.partial_out = aligned_in_slot(resources_.outbox(rank, slot_), partial_, own);
    }
    RONDO_RETURN_IF_ERROR(builder_.sum(rank, me.sums, dtype_, reduction_, SumOrder::left_to_right, sum, {},
                                       "add chunk ", chunk, label(), ", step ", step));
    RONDO_RETURN_IF_ERROR(builder_.record(me.freed[slot_], me.sums, rank));
    return builder_.record(me.summed[slot_], me.sums, rank);
  }

  int rank_at(int p) const { return grouped_ ? resources_.rank_in_groups(p) : resources_.rank_at(p); }
  int group_of(int p) const { return p - p % ring_size_; }  // the position of the group's first rank
  int prev_rank(int p) const { return rank_at(group_of(p) + prev_position(p % ring_size_, ring_size_)); }
  cudaEvent_t delivered(int rank, int step) const { return resources_.of(rank).delivered[step][slot_]; }
  SegmentLabel label() const { return {segments_.count > 1 ? segment_ + slot_ : -1}; }
  ConstDataView input(int rank, int chunk, Chunk segment) const {
    return inputs_[rank].part(chunks_[chunk].input_begin + segment.begin, segment.size);
  }
  DataView output(int rank, int chunk, Chunk segment) const {
    return outputs_[rank].part(chunks_[chunk].output_begin + segment.begin, segment.size);
  }

  OperationBuilder& builder_;
  RankResources& resources_;
  RankOutputs outputs_;
  RankInputs inputs_;
  PerRank<ChunkLocation> chunks_;
  DType dtype_;
  Reduction reduction_;
  bool grouped_;
  int ring_size_;  // number of ranks in a ring
  DType partial_;
  Segments segments_;
  int64_t segment_ = 0;  // segment_ + slot_ is the segment being enqueued
  int slot_ = 0;
};

}  // namespace rondo::ring
