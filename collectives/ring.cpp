// The ring: reduce-scatter, all-gather, and both in a row, which is the all-reduce.
//
// Five words. A *rank* is a participant: a device (or a part of one), streams, a vector. A *chunk* is one of the n
// parts that the vector is cut into. A *step* is the time in which every rank sends one chunk to its right
// neighbour and receives one from its left; there are 2(n-1) of them. A *piece* is a part of a chunk, small enough
// for a *slot*: scratch memory of a rank. Slots that its left neighbour fills are its inbox, slots that it fills
// itself and sends from are its outbox.
//
// Who sends what at which step is written in ring_schedule.h; here is how a step becomes work on streams. Each
// rank has two streams, one that copies and one that sums, so that while one piece is added the next one travels.
// No stream ever waits for the host, nor a kernel for another kernel. What must happen in order is tied by events:
//
//   delivered  my copy is done                -> the right neighbour may use the piece
//   freed      I have read my inbox's slot    -> the left neighbour may fill it again
//   summed     I have filled my outbox's slot -> I may send it
//   sent       my outbox's slot is sent       -> I may fill it again
//
//   reduce-scatter   rank r's copies                 rank r + 1's sums
//                    wait for summed of my outbox
//                    wait for freed of r + 1's inbox
//                    copy my outbox to its inbox
//                    record delivered, sent          wait for delivered of r, sent of my outbox
//                                                    outbox = inbox + my input
//                                                    record freed, summed
//   all-gather       copy my output to r + 1's output
//                    record delivered                (rank r + 1's copies wait for it before they pass it on)
//
// The first step sends the input as it is, and the last sum goes to the output, finished: divided where it is an
// average, rounded where partial sums are wider than the data.
//
// In the all-gather a rank writes straight into its neighbour's output, without asking. After a reduce-scatter
// that is safe: the finished chunk contains the neighbour's own share, so the neighbour has begun the operation and
// has read its own chunk, and every event between that moment and this one lies on the path which the chunk took. An
// all-gather alone first waits until the neighbour has begun.
//
// Events are recorded again and again: a wait means the record that is the latest when it is enqueued, and later
// records don't change that. The loops below enqueue in exactly this order.
#include <rondo/collectives/ring.h>

#include <ostream>

namespace rondo::ring {

namespace {

// ", piece 3" in the name of a span; built only where somebody traces.
struct PieceLabel {
  int64_t piece;  // -1: there is only one
  friend std::ostream& operator<<(std::ostream& out, PieceLabel label) {
    return label.piece < 0 ? out : out << ", piece " << label.piece;
  }
};

class Ring {
 public:
  // Where chunk c lies: from `input` on in every rank's input, from `output` on in its output.
  struct Place {
    int64_t input = 0;
    int64_t output = 0;
    int64_t size = 0;
  };

  Ring(Enqueue& enqueue, RankOutputs outputs, RankInputs inputs, Reduction reduction)
      : enqueue_(enqueue),
        communicator_(enqueue.communicator()),
        outputs_(outputs),
        inputs_(inputs),
        dtype_(outputs[0].dtype),
        partial_(accumulator_of(dtype_, reduction)),
        reduction_(reduction),
        ranks_(communicator_.size()) {}

  // Steps [first, last) over chunks of at most `whole` elements.
  template <class PlaceOf>
  Status run(int first, int last, int64_t whole, PlaceOf place_of) {
    communicator_.last.first_step = first;
    communicator_.last.last_step = last;
    const int64_t most = communicator_.slot_bytes() / std::max(size_of(partial_), size_of(dtype_));
    pieces_ = pieces_of(whole, most, size_of(dtype_));
    for (int rank = 0; rank < ranks_; ++rank) RONDO_RETURN_IF_ERROR(free_all_slots(rank));
    for (piece_ = 0; piece_ < pieces_.count; piece_ += kSlots)
      for (int step = first; step < last; ++step)
        for (slot_ = 0; slot_ < kSlots; ++slot_) {
          for (int p = 0; p < ranks_; ++p)
            RONDO_RETURN_IF_ERROR(send(p, step, place_of(sent_chunk(p, step, ranks_)), first));
          for (int p = 0; p < ranks_; ++p)
            RONDO_RETURN_IF_ERROR(receive(p, step, place_of(received_chunk(p, step, ranks_))));
        }
    return {};
  }

  int ranks() const { return ranks_; }
  int rank_at(int position) const { return communicator_.rank_at(position); }

 private:
  Status free_all_slots(int rank) {
    const Communicator::Rank& r = communicator_.of(rank);
    for (size_t slot = 0; slot < kSlots; ++slot) {
      RONDO_RETURN_IF_ERROR(enqueue_.record(r.freed[slot], r.sums, rank));
      RONDO_RETURN_IF_ERROR(enqueue_.record(r.sent[slot], r.copies, rank));
    }
    return {};
  }

  // The rank at position p sends a piece to its right neighbour: at first of its own share, then of the sums that
  // it made, then of the finished chunks.
  Status send(int p, int step, Place place, int first_step) {
    const Chunk piece = piece_of({0, place.size}, pieces_, piece_ + slot_);
    if (piece.size == 0) return {};
    const int rank = rank_at(p), right = rank_at(right_of(p, ranks_));
    const Communicator::Rank& me = communicator_.of(rank);
    const Communicator::Rank& neighbour = communicator_.of(right);
    const cudaStream_t copies = me.copies;
    const bool reducing = phase_of(step, ranks_) == Phase::reduce_scatter;
    ConstDataView from;
    void* to = nullptr;
    if (reducing && step == 0) {
      from = input(rank, place, piece);
    } else if (reducing) {
      RONDO_RETURN_IF_ERROR(enqueue_.wait(copies, rank, me.summed[slot_]));
      from = {in_slot(communicator_.outbox(rank, slot()), partial_, input(rank, place, piece)), piece.size,
              partial_};
    } else {
      // Finished by a sum of its own, or received in the step before.
      if (step == ranks_ - 1 && first_step == 0)
        RONDO_RETURN_IF_ERROR(enqueue_.wait(copies, rank, me.summed[slot_]));
      if (step > ranks_ - 1)
        RONDO_RETURN_IF_ERROR(enqueue_.wait(copies, rank, delivered(left_rank(p), step - 1)));
      from = output(rank, place, piece);
    }
    if (reducing) {
      RONDO_RETURN_IF_ERROR(enqueue_.wait(copies, rank, neighbour.freed[slot_]));
      to = in_slot(communicator_.inbox(right, slot()), from.dtype, input(right, place, piece));
    } else {
      to = output(right, place, piece).data;
    }
    RONDO_RETURN_IF_ERROR(enqueue_.copy(rank, copies, {to, right}, {from.data, rank}, from.bytes(),
                                        "send chunk ", sent_chunk(p, step, ranks_), label(), " to rank ",
                                        right, ", step ", step));
    if (reducing && step > 0) RONDO_RETURN_IF_ERROR(enqueue_.record(me.sent[slot_], copies, rank));
    return enqueue_.record(delivered(rank, step), copies, rank);
  }

  // The rank at position p adds a piece from its left neighbour to its own share. In the all-gather there is
  // nothing to do: the piece is where it belongs.
  Status receive(int p, int step, Place place) {
    const Chunk piece = piece_of({0, place.size}, pieces_, piece_ + slot_);
    if (piece.size == 0 || phase_of(step, ranks_) == Phase::all_gather) return {};
    const int rank = rank_at(p);
    const Communicator::Rank& me = communicator_.of(rank);
    const ConstDataView own = input(rank, place, piece);
    Combination sum;
    sum.size = piece.size;
    sum.divisor = ranks_;
    void* inbox = communicator_.inbox(rank, slot());
    if (step == 0)
      sum.in[sum.inputs++] = in_slot(inbox, dtype_, own);
    else
      sum.partial_in = in_slot(inbox, partial_, own);
    sum.in[sum.inputs++] = own.data;
    RONDO_RETURN_IF_ERROR(enqueue_.wait(me.sums, rank, delivered(left_rank(p), step)));
    if (step == ranks_ - 2) {
      sum.out[sum.outputs++] = output(rank, place, piece).data;
    } else {
      RONDO_RETURN_IF_ERROR(enqueue_.wait(me.sums, rank, me.sent[slot_]));
      sum.partial_out = in_slot(communicator_.outbox(rank, slot()), partial_, own);
    }
    RONDO_RETURN_IF_ERROR(enqueue_.sum(rank, me.sums, dtype_, reduction_, SumOrder::left_to_right, sum,
                                       "add chunk ", received_chunk(p, step, ranks_), label(), ", step ",
                                       step));
    RONDO_RETURN_IF_ERROR(enqueue_.record(me.freed[slot_], me.sums, rank));
    return enqueue_.record(me.summed[slot_], me.sums, rank);
  }

  int slot() const { return static_cast<int>(slot_); }
  PieceLabel label() const { return {pieces_.count > 1 ? piece_ + slot() : -1}; }
  int left_rank(int p) const { return rank_at(left_of(p, ranks_)); }
  cudaEvent_t delivered(int rank, int step) const {
    return communicator_.of(rank).delivered[static_cast<size_t>(step * kSlots) + slot_];
  }
  ConstDataView input(int rank, Place place, Chunk piece) const {
    return inputs_[static_cast<size_t>(rank)].part(place.input + piece.begin, piece.size);
  }
  DataView output(int rank, Place place, Chunk piece) const {
    return outputs_[static_cast<size_t>(rank)].part(place.output + piece.begin, piece.size);
  }
  // A slot's beginning, moved so that what is put there lies to the 16-byte boundaries as `data` do.
  static void* in_slot(void* slot, DType dtype, ConstDataView data) {
    return static_cast<std::byte*>(slot) + lead_of(data.data, data.dtype) * size_of(dtype);
  }

  Enqueue& enqueue_;
  Communicator& communicator_;
  RankOutputs outputs_;
  RankInputs inputs_;
  DType dtype_, partial_;
  Reduction reduction_;
  int ranks_;
  Pieces pieces_;
  int64_t piece_ = 0;  // piece_ + slot_ is the piece that is being enqueued
  size_t slot_ = 0;
};

// Nobody sends to a neighbour that has not begun.
Status fork_to_gather(Enqueue& enqueue) {
  Communicator& communicator = enqueue.communicator();
  RONDO_RETURN_IF_ERROR(enqueue.fork());
  for (int p = 0; p < enqueue.ranks(); ++p) {
    const int rank = communicator.rank_at(p), right = communicator.rank_at(right_of(p, enqueue.ranks()));
    RONDO_RETURN_IF_ERROR(enqueue.wait(enqueue.copies(rank), rank, communicator.of(right).entered));
  }
  return {};
}

// A rank's own part of a gathered output.
Status keep(Enqueue& enqueue, int rank, DataView to, ConstDataView from) {
  if (to.data == from.data) return {};
  return enqueue.copy(rank, enqueue.copies(rank), {to.data, rank}, {from.data, rank}, from.bytes(), "keep");
}

}  // namespace

Status all_reduce(Enqueue& enqueue, RankOutputs outputs, RankInputs inputs, Reduction reduction) {
  const int ranks = enqueue.ranks();
  const int64_t size = outputs[0].size, bytes = size_of(outputs[0].dtype);
  Ring ring(enqueue, outputs, inputs, reduction);
  RONDO_RETURN_IF_ERROR(enqueue.fork());
  RONDO_RETURN_IF_ERROR(ring.run(0, steps(ranks), whole_chunk(size, ranks, bytes), [&](int index) {
    const Chunk chunk = chunk_of(size, ranks, index, bytes);
    return Ring::Place{chunk.begin, chunk.begin, chunk.size};
  }));
  return enqueue.join(Enqueue::Senders::left);
}

// Block r must end with rank r: it is the chunk whose owner that rank is.
Status reduce_scatter(Enqueue& enqueue, RankOutputs outputs, RankInputs inputs, Reduction reduction) {
  const int ranks = enqueue.ranks();
  const int64_t block = outputs[0].size;
  Ring ring(enqueue, outputs, inputs, reduction);
  RONDO_RETURN_IF_ERROR(enqueue.fork());
  RONDO_RETURN_IF_ERROR(ring.run(0, ranks - 1, block, [&](int index) {
    return Ring::Place{ring.rank_at(owner_of(index, ranks)) * block, 0, block};
  }));
  return enqueue.join(Enqueue::Senders::left);
}

Status all_gather(Enqueue& enqueue, RankOutputs outputs, RankInputs inputs) {
  const int ranks = enqueue.ranks();
  const int64_t block = inputs[0].size;
  Ring ring(enqueue, outputs, inputs, Reduction::max);
  RONDO_RETURN_IF_ERROR(fork_to_gather(enqueue));
  for (int rank = 0; rank < ranks; ++rank)
    RONDO_RETURN_IF_ERROR(keep(enqueue, rank, outputs[static_cast<size_t>(rank)].part(rank * block, block),
                               inputs[static_cast<size_t>(rank)]));
  RONDO_RETURN_IF_ERROR(ring.run(ranks - 1, steps(ranks), block, [&](int index) {
    return Ring::Place{0, ring.rank_at(owner_of(index, ranks)) * block, block};
  }));
  return enqueue.join(Enqueue::Senders::left);
}

// An all-gather in which only root's chunk holds anything.
Status broadcast(Enqueue& enqueue, RankOutputs outputs, ConstDataView input, int root) {
  const int ranks = enqueue.ranks();
  Ring ring(enqueue, outputs, {}, Reduction::max);
  RONDO_RETURN_IF_ERROR(fork_to_gather(enqueue));
  RONDO_RETURN_IF_ERROR(keep(enqueue, root, outputs[static_cast<size_t>(root)], input));
  RONDO_RETURN_IF_ERROR(ring.run(ranks - 1, steps(ranks), input.size, [&](int index) {
    return Ring::Place{0, 0, ring.rank_at(owner_of(index, ranks)) == root ? input.size : 0};
  }));
  return enqueue.join(Enqueue::Senders::left);
}

// A reduce-scatter in which only root's chunk holds anything.
Status reduce(Enqueue& enqueue, DataView output, RankInputs inputs, int root, Reduction reduction) {
  const int ranks = enqueue.ranks();
  std::array<DataView, kMaxRanks> outputs;
  outputs[0].dtype = output.dtype;
  outputs[static_cast<size_t>(root)] = output;
  Ring ring(enqueue, {outputs.data(), static_cast<size_t>(ranks)}, inputs, reduction);
  RONDO_RETURN_IF_ERROR(enqueue.fork());
  RONDO_RETURN_IF_ERROR(ring.run(0, ranks - 1, output.size, [&](int index) {
    return Ring::Place{0, 0, ring.rank_at(owner_of(index, ranks)) == root ? output.size : 0};
  }));
  return enqueue.join(Enqueue::Senders::left);
}

}  // namespace rondo::ring
