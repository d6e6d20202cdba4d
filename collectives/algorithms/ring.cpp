// The operations of the ring: reduce-scatter, all-gather, and the all-reduce, which is both in sequence.
// ring_steps.h describes how a step becomes work on streams.
#include <rondo/collectives/algorithms/ring.h>
#include <rondo/collectives/algorithms/ring_steps.h>

namespace rondo::ring {

namespace {

// Each rank's sends wait until the next rank has started.
Status fork_and_wait_for_next(OperationBuilder& builder) {
  Communicator& communicator = builder.communicator();
  RONDO_RETURN_IF_ERROR(builder.fork());
  for (int p = 0; p < builder.ranks(); ++p) {
    const int rank = communicator.rank_at(p), next = communicator.rank_at(next_position(p, builder.ranks()));
    RONDO_RETURN_IF_ERROR(builder.wait(builder.copies(rank), rank, builder.entered(next)));
  }
  return {};
}

// Copies a rank's own part to its output.
Status copy_own_block(OperationBuilder& builder, int rank, DataView to, ConstDataView from) {
  if (to.data == from.data) return {};
  return builder.copy(rank, builder.copies(rank), {to.data, rank}, {from.data, rank}, from.bytes(),
                      "copy own block");
}

}  // namespace

Status all_reduce(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs, Reduction reduction) {
  const int ranks = builder.ranks();
  const int64_t size = outputs[0].size, element_bytes = size_of(outputs[0].dtype);
  Ring ring(builder, outputs, inputs, reduction);
  RONDO_RETURN_IF_ERROR(builder.fork());
  RONDO_RETURN_IF_ERROR(
      ring.run(0, steps(ranks), full_chunk_size(size, ranks, element_bytes), [&](int index) {
        const Chunk chunk = chunk_of(size, ranks, index, element_bytes);
        return Ring::ChunkLocation{chunk.begin, chunk.begin, chunk.size};
      }));
  return builder.join(OperationBuilder::Senders::prev);
}

// Block r must end at rank r, so it is the chunk that rank r owns.
Status reduce_scatter(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs,
                      Reduction reduction) {
  const int ranks = builder.ranks();
  const int64_t block = outputs[0].size;
  Ring ring(builder, outputs, inputs, reduction);
  RONDO_RETURN_IF_ERROR(builder.fork());
  RONDO_RETURN_IF_ERROR(ring.run(0, ranks - 1, block, [&](int index) {
    return Ring::ChunkLocation{ring.rank_at(owner_of(index, ranks)) * block, 0, block};
  }));
  return builder.join(OperationBuilder::Senders::prev);
}

Status all_gather(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs) {
  const int ranks = builder.ranks();
  const int64_t block = inputs[0].size;
  Ring ring(builder, outputs, inputs, Reduction::max);  // the reduction is unused
  RONDO_RETURN_IF_ERROR(fork_and_wait_for_next(builder));
  for (int rank = 0; rank < ranks; ++rank)
    RONDO_RETURN_IF_ERROR(copy_own_block(builder, rank,
                                         outputs[static_cast<size_t>(rank)].part(rank * block, block),
                                         inputs[static_cast<size_t>(rank)]));
  RONDO_RETURN_IF_ERROR(ring.run(ranks - 1, steps(ranks), block, [&](int index) {
    return Ring::ChunkLocation{0, ring.rank_at(owner_of(index, ranks)) * block, block};
  }));
  return builder.join(OperationBuilder::Senders::prev);
}

// An all-gather in which only root's chunk is not empty.
Status broadcast(OperationBuilder& builder, RankOutputs outputs, ConstDataView input, int root) {
  const int ranks = builder.ranks();
  Ring ring(builder, outputs, {}, Reduction::max);  // the reduction is unused
  RONDO_RETURN_IF_ERROR(fork_and_wait_for_next(builder));
  RONDO_RETURN_IF_ERROR(copy_own_block(builder, root, outputs[static_cast<size_t>(root)], input));
  RONDO_RETURN_IF_ERROR(ring.run(ranks - 1, steps(ranks), input.size, [&](int index) {
    return Ring::ChunkLocation{0, 0, ring.rank_at(owner_of(index, ranks)) == root ? input.size : 0};
  }));
  return builder.join(OperationBuilder::Senders::prev);
}

// A reduce-scatter in which only root's chunk is not empty.
Status reduce(OperationBuilder& builder, DataView output, RankInputs inputs, int root, Reduction reduction) {
  const int ranks = builder.ranks();
  std::array<DataView, kMaxRanks> outputs;
  outputs[0].dtype = output.dtype;  // Ring reads its type there
  outputs[static_cast<size_t>(root)] = output;
  Ring ring(builder, {outputs.data(), static_cast<size_t>(ranks)}, inputs, reduction);
  RONDO_RETURN_IF_ERROR(builder.fork());
  RONDO_RETURN_IF_ERROR(ring.run(0, ranks - 1, output.size, [&](int index) {
    return Ring::ChunkLocation{0, 0, ring.rank_at(owner_of(index, ranks)) == root ? output.size : 0};
  }));
  return builder.join(OperationBuilder::Senders::prev);
}

}  // namespace rondo::ring
