// The operations of the ring: reduce-scatter, all-gather, and the all-reduce, which is both in sequence.
// ring_steps.h describes how a step becomes work on streams.
#include <rondo/collectives/algorithms/algorithms.h>
#include <rondo/collectives/algorithms/ring_steps.h>

namespace rondo::ring {

namespace {

// location_of(r) for the chunk that rank r owns, for all ranks.
template <class LocationOf>
PerRank<ChunkLocation> chunks_of_owners(const OperationBuilder& builder, LocationOf location_of) {
  PerRank<ChunkLocation> chunks;
  for (int chunk = 0; chunk < builder.ranks(); ++chunk)
    chunks.push_back(location_of(builder.resources().rank_at(owner_of(chunk, builder.ranks()))));
  return chunks;
}

// Each rank's sends wait until the next rank has started.
Status fork_and_wait_for_next(OperationBuilder& builder) {
  const RankResources& resources = builder.resources();
  RONDO_RETURN_IF_ERROR(builder.fork());
  for (int p = 0; p < builder.ranks(); ++p) {
    const int rank = resources.rank_at(p), next = resources.rank_at(next_position(p, builder.ranks()));
    RONDO_RETURN_IF_ERROR(builder.wait(builder.copies(rank), rank, builder.entered(next)));
  }
  return {};
}

// Copies a rank's own part to its output.
Status copy_own_block(OperationBuilder& builder, int rank, DataView to, ConstDataView from) {
  if (to.data == from.data) return {};
  return builder.copy(rank, builder.copies(rank), rank, to.data, rank, from, "copy own block");
}

}  // namespace

Status all_reduce(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs, Reduction reduction) {
  const int ranks = builder.ranks();
  Ring ring(builder, outputs, inputs, reduction, chunks_of(outputs[0].size, ranks, outputs[0].dtype));
  RONDO_RETURN_IF_ERROR(builder.fork());
  RONDO_RETURN_IF_ERROR(ring.run(0, steps(ranks)));
  return builder.join(OperationBuilder::Senders::prev);
}

// Block r must end at rank r, so it is the chunk that rank r owns.
Status reduce_scatter(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs,
                      Reduction reduction) {
  const int64_t block = outputs[0].size;
  Ring ring(builder, outputs, inputs, reduction, chunks_of_owners(builder, [&](int rank) {
              return ChunkLocation{rank * block, 0, block};
            }));
  RONDO_RETURN_IF_ERROR(builder.fork());
  RONDO_RETURN_IF_ERROR(ring.run(0, builder.ranks() - 1));
  return builder.join(OperationBuilder::Senders::prev);
}

Status all_gather(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs) {
  const int ranks = builder.ranks();
  const int64_t block = inputs[0].size;
  Ring ring(builder, outputs, inputs, Reduction::max,  // the reduction is unused
            chunks_of_owners(builder, [&](int rank) {
              return ChunkLocation{0, rank * block, block};
            }));
  RONDO_RETURN_IF_ERROR(fork_and_wait_for_next(builder));
  for (int rank = 0; rank < ranks; ++rank)
    RONDO_RETURN_IF_ERROR(
        copy_own_block(builder, rank, outputs[rank].part(rank * block, block), inputs[rank]));
  RONDO_RETURN_IF_ERROR(ring.run(ranks - 1, steps(ranks)));
  return builder.join(OperationBuilder::Senders::prev);
}

// An all-gather in which only root's chunk is not empty.
Status broadcast(OperationBuilder& builder, RankOutputs outputs, ConstDataView input, int root) {
  const int ranks = builder.ranks();
  Ring ring(builder, outputs, {}, Reduction::max,  // the reduction is unused
            chunks_of_owners(builder, [&](int rank) {
              return ChunkLocation{0, 0, rank == root ? input.size : 0};
            }));
  RONDO_RETURN_IF_ERROR(fork_and_wait_for_next(builder));
  RONDO_RETURN_IF_ERROR(copy_own_block(builder, root, outputs[root], input));
  RONDO_RETURN_IF_ERROR(ring.run(ranks - 1, steps(ranks)));
  return builder.join(OperationBuilder::Senders::prev);
}

// A reduce-scatter in which only root's chunk is not empty.
Status reduce(OperationBuilder& builder, DataView output, RankInputs inputs, int root, Reduction reduction) {
  PerRank<DataView> outputs(inputs.size(), DataView(nullptr, 0, output.dtype));
  outputs[root] = output;
  Ring ring(builder, outputs, inputs, reduction, chunks_of_owners(builder, [&](int rank) {
              return ChunkLocation{0, 0, rank == root ? output.size : 0};
            }));
  RONDO_RETURN_IF_ERROR(builder.fork());
  RONDO_RETURN_IF_ERROR(ring.run(0, builder.ranks() - 1));
  return builder.join(OperationBuilder::Senders::prev);
}

}  // namespace rondo::ring
