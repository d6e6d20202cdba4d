// The direct algorithms: every rank exchanges data with every other rank; no rank forwards data.
//
// The all-reduce has two phases instead of the ring's 2(n-1) steps. Rank r computes shard r, the r-th of n
// parts of the data:
//
//   1. It reads shard r of all n inputs and sums them in registers, from rank 0 to rank n-1.
//   2. It writes the sum to shard r of all n outputs.
//
// If all ranks have peer access to each other, both phases are one kernel per rank and no data is moved
// twice: n ranks that share a device read n vectors and write n, the minimum for any algorithm. Only rank r
// accesses shard r, so the ranks only need a barrier at the beginning and at the end.
//
// Otherwise rank r copies the shards to its scratch memory, sums them there and copies the result to the
// others, in the same order and with the same bits. The scratch memory is cut into n regions. Larger shards
// take several rounds.
#include <rondo/collectives/algorithms/direct.h>
#include <rondo/collectives/algorithms/staged_copy.h>
#include <rondo/collectives/algorithms/ring_schedule.h>

namespace rondo::direct {

namespace {

// The arguments of one rank's kernel: its shard of all inputs, and the outputs.
struct Shard {
  ReduceArguments arguments;

  Shard(const OperationBuilder& builder, int64_t size) {
    arguments.size = size;
    arguments.divisor = builder.ranks();
  }
  void read(ConstDataView from) { arguments.in[arguments.inputs++] = from.data; }
  void write(DataView to) { arguments.out[arguments.outputs++] = to.data; }
};

Status sum_on_callers_stream(OperationBuilder& builder, int rank, DType dtype, const ReduceOptions& options,
                             const Shard& shard) {
  if (shard.arguments.size == 0) return {};
  return builder.sum(rank, builder.callers()[static_cast<size_t>(rank)], dtype, options.reduction,
                     options.order, shard.arguments, "sum shard ", rank);
}

// block_of(r, s) is the block that rank r sends to rank s. Each rank begins with the rank after itself, so
// that the ranks do not all send to the same one at the same time.
template <class BlockOf>
Status send_to_all(OperationBuilder& builder, BlockOf block_of) {
  RONDO_RETURN_IF_ERROR(builder.fork());
  const int ranks = builder.ranks();
  for (int rank = 0; rank < ranks; ++rank)
    for (int other = 0; other < ranks; ++other)
      if (other != rank)
        RONDO_RETURN_IF_ERROR(builder.wait(builder.copies(rank), rank, builder.entered(other)));
  for (int distance = 0; distance < ranks; ++distance)
    for (int rank = 0; rank < ranks; ++rank) {
      const int to = (rank + distance) % ranks;
      const auto [output, input] = block_of(rank, to);
      if (output.data == input.data || input.size == 0) continue;
      RONDO_RETURN_IF_ERROR(builder.copy(rank, builder.copies(rank), {output.data, to}, {input.data, rank},
                                         input.bytes(), "send to rank ", to));
    }
  return builder.join(OperationBuilder::Senders::all);
}

struct BlockCopy {
  DataView output;
  ConstDataView input;
};

}  // namespace

Status all_reduce(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs,
                  const ReduceOptions& options) {
  const int ranks = builder.ranks();
  const DType dtype = outputs[0].dtype;
  const auto shard_of = [&](int rank) {
    return ring::chunk_of(outputs[0].size, ranks, rank, size_of(dtype));
  };
  if (!builder.communicator().all_reach_all()) {
    RONDO_RETURN_IF_ERROR(builder.fork());
    RONDO_RETURN_IF_ERROR(builder.join_sums());
    for (int rank = 0; rank < ranks; ++rank)
      RONDO_RETURN_IF_ERROR(
          staged_reduce_and_broadcast(builder, rank, outputs, inputs, shard_of(rank), options));
    RONDO_RETURN_IF_ERROR(builder.join_sums());
    return builder.join(OperationBuilder::Senders::prev);
  }
  RONDO_RETURN_IF_ERROR(builder.begin_barrier());
  for (int rank = 0; rank < ranks; ++rank) {
    const ring::Chunk chunk = shard_of(rank);
    Shard shard(builder, chunk.size);
    for (const ConstDataView& input : inputs) shard.read(input.part(chunk.begin, chunk.size));
    for (const DataView& output : outputs) shard.write(output.part(chunk.begin, chunk.size));
    RONDO_RETURN_IF_ERROR(sum_on_callers_stream(builder, rank, dtype, options, shard));
  }
  return builder.end_barrier();
}

Status reduce_scatter(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs,
                      const ReduceOptions& options) {
  const int64_t block = outputs[0].size;
  const bool reachable = builder.communicator().all_reach_all();
  if (!reachable) RONDO_RETURN_IF_ERROR(builder.fork());
  RONDO_RETURN_IF_ERROR(reachable ? builder.begin_barrier() : builder.join_sums());
  for (int rank = 0; rank < builder.ranks(); ++rank) {
    const DataView output = outputs[static_cast<size_t>(rank)];
    if (!reachable) {
      RONDO_RETURN_IF_ERROR(staged_reduce(builder, rank, output, inputs, rank * block, options));
      continue;
    }
    Shard shard(builder, block);
    for (const ConstDataView& input : inputs) shard.read(input.part(rank * block, block));
    shard.write(output);
    RONDO_RETURN_IF_ERROR(sum_on_callers_stream(builder, rank, output.dtype, options, shard));
  }
  if (reachable) return builder.end_barrier();
  RONDO_RETURN_IF_ERROR(builder.join_sums());
  return builder.join(OperationBuilder::Senders::prev);
}

Status reduce(OperationBuilder& builder, DataView output, RankInputs inputs, int root,
              const ReduceOptions& options) {
  if (!builder.communicator().all_reach_all()) {
    RONDO_RETURN_IF_ERROR(builder.fork());
    RONDO_RETURN_IF_ERROR(builder.join_sums());
    RONDO_RETURN_IF_ERROR(staged_reduce(builder, root, output, inputs, 0, options));
    RONDO_RETURN_IF_ERROR(builder.join_sums());
    return builder.join(OperationBuilder::Senders::prev);
  }
  RONDO_RETURN_IF_ERROR(builder.begin_barrier());
  Shard all(builder, output.size);
  for (const ConstDataView& input : inputs) all.read(input);
  all.write(output);
  RONDO_RETURN_IF_ERROR(sum_on_callers_stream(builder, root, output.dtype, options, all));
  return builder.end_barrier();
}

Status all_gather(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs) {
  const int64_t block = inputs[0].size;
  return send_to_all(builder, [&](int from, int to) {
    return BlockCopy{outputs[static_cast<size_t>(to)].part(from * block, block),
                     inputs[static_cast<size_t>(from)]};
  });
}

Status all_to_all(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs) {
  const int64_t block = inputs[0].size / builder.ranks();
  return send_to_all(builder, [&](int from, int to) {
    return BlockCopy{outputs[static_cast<size_t>(to)].part(from * block, block),
                     inputs[static_cast<size_t>(from)].part(to * block, block)};
  });
}

Status broadcast(OperationBuilder& builder, RankOutputs outputs, ConstDataView input, int root) {
  return send_to_all(builder, [&](int from, int to) {
    return from == root ? BlockCopy{outputs[static_cast<size_t>(to)], input} : BlockCopy{};
  });
}

}  // namespace rondo::direct
