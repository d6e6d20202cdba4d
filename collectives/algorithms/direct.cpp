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
#include <rondo/collectives/algorithms/algorithms.h>
#include <rondo/collectives/algorithms/staged_copy.h>

namespace rondo::direct {

namespace {

// Computes each shard by one kernel on its rank, from all inputs to all its outputs.
Status sum_shards(OperationBuilder& builder, const std::vector<SumShard>& shards, RankInputs inputs,
                  const ReduceOptions& options) {
  if (!builder.resources().all_reach_all()) return sum_by_copies(builder, shards, inputs, options);
  RONDO_RETURN_IF_ERROR(builder.begin_barrier());
  for (const SumShard& shard : shards) {
    const int rank = shard.rank;
    ReduceArguments sum;
    sum.size = shard.own().size;
    sum.divisor = builder.ranks();
    if (sum.size == 0) continue;
    SumPeers peers;
    for (int other = 0; other < inputs.count(); ++other) {
      sum.read(inputs[other].part(shard.begin, sum.size).data);
      peers.read.push_back(other);
    }
    for (int other = 0; other < shard.outputs.count(); ++other) {
      sum.write(shard.outputs[other].data);
      peers.written.push_back(shard.outputs.count() == 1 ? rank : other);  // its own, or one of each rank
    }
    RONDO_RETURN_IF_ERROR(builder.sum(rank, builder.caller(rank), shard.own().dtype, options.reduction,
                                      options.order, sum, peers, "sum shard ", rank));
  }
  return builder.end_barrier();
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
      RONDO_RETURN_IF_ERROR(
          builder.copy(rank, builder.copies(rank), to, output.data, rank, input, "send to rank ", to));
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
  std::vector<SumShard> shards;
  for (int rank = 0; rank < builder.ranks(); ++rank) {
    const ring::Chunk chunk =
        ring::chunk_of(outputs[0].size, builder.ranks(), rank, size_of(outputs[0].dtype));
    PerRank<DataView> parts(outputs.begin(), outputs.end());
    for (DataView& part : parts) part = part.part(chunk.begin, chunk.size);
    shards.push_back({rank, chunk.begin, std::move(parts)});
  }
  return sum_shards(builder, shards, inputs, options);
}

Status reduce_scatter(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs,
                      const ReduceOptions& options) {
  std::vector<SumShard> shards;
  for (int rank = 0; rank < builder.ranks(); ++rank)
    shards.push_back({rank, rank * outputs[rank].size, {outputs[rank]}});
  return sum_shards(builder, shards, inputs, options);
}

Status reduce(OperationBuilder& builder, DataView output, RankInputs inputs, int root,
              const ReduceOptions& options) {
  return sum_shards(builder, {{root, 0, {output}}}, inputs, options);
}

Status all_gather(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs) {
  const int64_t block = inputs[0].size;
  return send_to_all(builder, [&](int from, int to) {
    return BlockCopy{outputs[to].part(from * block, block), inputs[from]};
  });
}

Status all_to_all(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs) {
  const int64_t block = inputs[0].size / builder.ranks();
  return send_to_all(builder, [&](int from, int to) {
    return BlockCopy{outputs[to].part(from * block, block), inputs[from].part(to * block, block)};
  });
}

Status broadcast(OperationBuilder& builder, RankOutputs outputs, ConstDataView input, int root) {
  return send_to_all(builder, [&](int from, int to) {
    return from == root ? BlockCopy{outputs[to], input} : BlockCopy{};
  });
}

}  // namespace rondo::direct
