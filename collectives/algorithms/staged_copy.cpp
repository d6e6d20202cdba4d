#include <rondo/collectives/algorithms/staged_copy.h>

#include <algorithm>

namespace rondo {

namespace {

// The scratch memory of a rank, cut into one region per rank. Region `rank` is unused: its input is local.
class Regions {
 public:
  Regions(Communicator& communicator, int rank, DType dtype)
      : base_(communicator.inbox(rank, 0)),
        bytes_((communicator.bucket(rank) - base_) / communicator.size() / ring::kChunkAlignment *
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
  sum.out[sum.outputs++] = output.data;
  const ConstDataView own = inputs[static_cast<size_t>(rank)].part(begin, output.size);
  for (int other = 0; other < builder.ranks(); ++other) {
    const ConstDataView input = inputs[static_cast<size_t>(other)].part(begin, output.size);
    if (other == rank) {
      sum.in[sum.inputs++] = own.data;
      continue;
    }
    void* region = regions.of(other, own);
    RONDO_RETURN_IF_ERROR(builder.copy(rank, builder.sums(rank), {region, rank}, {input.data, other},
                                       input.bytes(), "copy from rank ", other));
    sum.in[sum.inputs++] = region;
  }
  return builder.sum(rank, builder.sums(rank), output.dtype, options.reduction, options.order, sum, "sum");
}

}  // namespace

Status staged_reduce(OperationBuilder& builder, int rank, DataView output, RankInputs inputs, int64_t begin,
                     const ReduceOptions& options) {
  const Regions regions(builder.communicator(), rank, output.dtype);
  for (int64_t done = 0; done < output.size; done += regions.elements()) {
    const int64_t size = std::min(regions.elements(), output.size - done);
    RONDO_RETURN_IF_ERROR(
        one_round(builder, rank, output.part(done, size), inputs, begin + done, regions, options));
  }
  return {};
}

Status staged_reduce_and_broadcast(OperationBuilder& builder, int rank, RankOutputs outputs,
                                   RankInputs inputs, ring::Chunk part, const ReduceOptions& options) {
  if (part.size == 0) return {};
  const DataView own = outputs[static_cast<size_t>(rank)].part(part.begin, part.size);
  RONDO_RETURN_IF_ERROR(staged_reduce(builder, rank, own, inputs, part.begin, options));
  for (int distance = 1; distance < builder.ranks(); ++distance) {
    const int other = (rank + distance) % builder.ranks();
    const DataView to = outputs[static_cast<size_t>(other)].part(part.begin, part.size);
    RONDO_RETURN_IF_ERROR(builder.copy(rank, builder.sums(rank), {to.data, other}, {own.data, rank},
                                       own.bytes(), "send to rank ", other));
  }
  return {};
}

}  // namespace rondo
