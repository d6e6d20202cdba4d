// The operations of the ring: reduce-scatter, all-gather, and both in a row, which is the all-reduce. How a step
// becomes work on streams is told in ring_steps.h.
#include <rondo/collectives/algorithms/ring.h>
#include <rondo/collectives/algorithms/ring_steps.h>

namespace rondo::ring {

namespace {

// Nobody sends to a neighbour that has not begun.
Status fork_to_gather(Enqueue& enqueue) {
  Communicator& communicator = enqueue.communicator();
  RONDO_RETURN_IF_ERROR(enqueue.fork());
  for (int p = 0; p < enqueue.ranks(); ++p) {
    const int rank = communicator.rank_at(p), right = communicator.rank_at(right_of(p, enqueue.ranks()));
    RONDO_RETURN_IF_ERROR(enqueue.wait(enqueue.copies(rank), rank, enqueue.entered(right)));
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
