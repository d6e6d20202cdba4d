#include <rondo/collectives/algorithms/staged_copy.h>

#include <algorithm>

namespace rondo {

namespace {

// The scratch memory of a rank, cut into one region per rank. Region `rank` is unused: its input is local.
class Regions {
 public:
  Regions(RankResources& resources, int rank, DType dtype)
      : base_(resources.inbox(rank, 0)),
        bytes_((resources.bucket(rank) - base_) / resources.size() / ring::kChunkAlignment *
               ring::kChunkAlignment),
        dtype_(dtype) {}

  // Elements that fit a region, with spare space for the lead (lead_of()).
  int64_t elements() const { return (bytes_ - ring::kChunkAlignment) / size_of(dtype_); }
  void* of(int rank, ConstDataView like) const {
    return base_ + rank * bytes_ + lead_of(like.data, dtype_) * size_of(dtype_);
  }

 private:
  std::byte* base_;
  int64_t bytes_;
  DType dtype_;
};

// Sums inputs[r] from element `begin` on into `output`, which fits a region.
Status one_round(OperationBuilder& builder, int rank, DataView output, RankInputs inputs, int64_t begin,
                 const Regions& regions, const ReduceOptions& options) {
  ReduceArguments sum;
  sum.size = output.size;
  sum.divisor = builder.ranks();
  sum.write(output.data);
  const ConstDataView own = inputs[rank].part(begin, output.size);
  for (int other = 0; other < builder.ranks(); ++other) {
    void* region = regions.of(other, own);
    sum.read(other == rank ? own.data : region);
    if (other == rank) continue;
    RONDO_RETURN_IF_ERROR(builder.copy(rank, builder.sums(rank), rank, region, other,
                                       inputs[other].part(begin, output.size), "copy from rank ", other));
  }
  return builder.sum(rank, builder.sums(rank), output.dtype, options.reduction, options.order, sum, {},
                     "sum");
}

Status sum_shard(OperationBuilder& builder, const SumShard& shard, RankInputs inputs,
                 const ReduceOptions& options) {
  const DataView own = shard.own();
  const int rank = shard.rank;
  if (own.size == 0) return {};
  const Regions regions(builder.resources(), rank, own.dtype);
  for (int64_t done = 0; done < own.size; done += regions.elements()) {
    const int64_t size = std::min(regions.elements(), own.size - done);
    RONDO_RETURN_IF_ERROR(
        one_round(builder, rank, own.part(done, size), inputs, shard.begin + done, regions, options));
  }
  for (int distance = 1; distance < shard.outputs.count(); ++distance) {
    const int other = (rank + distance) % builder.ranks();
    RONDO_RETURN_IF_ERROR(builder.copy(rank, builder.sums(rank), other, shard.outputs[other].data, rank, own,
                                       "send to rank ", other));
  }
  return {};
}

}  // namespace

Status sum_by_copies(OperationBuilder& builder, const std::vector<SumShard>& shards, RankInputs inputs,
                     const ReduceOptions& options) {
  RONDO_RETURN_IF_ERROR(builder.fork());
  RONDO_RETURN_IF_ERROR(builder.join_sums());
  for (const SumShard& shard : shards) RONDO_RETURN_IF_ERROR(sum_shard(builder, shard, inputs, options));
  RONDO_RETURN_IF_ERROR(builder.join_sums());
  return builder.join(OperationBuilder::Senders::prev);
}

}  // namespace rondo
