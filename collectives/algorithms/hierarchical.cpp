// The hierarchical all-reduce, for ranks in groups with fast links inside a group and slow links between
// groups.
//
//   1. Reduce-scatter by a ring in each group. A rank then holds its group's partial sum of one chunk, not
//      rounded and not divided.
//   2. The ranks that hold the same chunk, one in each group, add their partial sums from group 0 to the last
//      and finish them.
//   3. All-gather by a ring in each group.
//
// Each byte crosses between two groups once on its way to the sum and once on its way back, instead of once
// for every rank. Step 2 is a direct all-reduce: the chunk is cut into one slice per group. The rank of group
// k reads slice k of all partial sums and writes the result to slice k of all outputs.
//
// A group of one rank has nothing to scatter or gather: its input is its partial sum, in the data's type.
//
// If the groups are processes, step 2 uses messages (across_processes.cpp). The order of the additions and
// the bits are the same.
#include <rondo/collectives/algorithms/across_processes.h>
#include <rondo/collectives/algorithms/algorithms.h>
#include <rondo/collectives/algorithms/partial_sums.h>

namespace rondo::hierarchical {

namespace {

using ring::Ring;

// Step 2 if all groups are in one process.
class Groups {
 public:
  Groups(OperationBuilder& builder, const Ring& ring)
      : builder_(builder),
        resources_(builder.resources()),
        ring_(ring),
        groups_(ring.groups()),
        dtype_(ring.dtype()) {}

  // The space that copied slices need in an inbox slot beyond a segment: each may be longer by an alignment
  // unit.
  static int64_t reserved(int groups, DType dtype) {
    return groups * (ring::kChunkAlignment / size_of(dtype));
  }

  // Computes the slice of the rank at position p, in one slot.
  Status sum_slice(int p, int slot) {
    const int m = ring_.ring_size(), own_group = p / m;
    const Ring::PartialSegment own = ring_.partial_segment(p, slot);
    const ring::Chunk slice = ring::chunk_of(own.range.size, groups_, own_group, size_of(dtype_));
    if (slice.size == 0) return {};
    PartialSums sums(dtype_, ring_.partial_type(), ring_.reduction(), slice.size, builder_.ranks());
    for (int group = 0; group < groups_; ++group) {
      const Ring::PartialSegment other = ring_.partial_segment(group * m + p % m, slot);
      const ConstDataView partial = other.partial_sum.part(slice.begin, slice.size);
      if (group == own_group || resources_.all_reach_all()) {
        sums.read(partial, other.rank);
        continue;
      }
      void* region = region_of(own, slot, group, slice.size);
      RONDO_RETURN_IF_ERROR(builder_.copy(own.rank, builder_.sums(own.rank), own.rank, region, other.rank,
                                          partial, "copy chunk ", own.chunk, " from rank ", other.rank));
      sums.read({region, slice.size, partial.dtype}, own.rank);
    }
    const DataView output = own.output.part(slice.begin, slice.size);
    sums.write(output, own.rank);
    if (resources_.all_reach_all())
      for (int group = 0; group < groups_; ++group)
        if (group != own_group) {
          const Ring::PartialSegment other = ring_.partial_segment(group * m + p % m, slot);
          sums.write(other.output.part(slice.begin, slice.size), other.rank);
        }
    RONDO_RETURN_IF_ERROR(sums.enqueue(builder_, own.rank, own.partial_sum.part(slice.begin, slice.size),
                                       "add the groups' chunk ", own.chunk));
    if (resources_.all_reach_all()) return {};
    for (int distance = 1; distance < groups_; ++distance) {
      const int group = (own_group + distance) % groups_;
      const Ring::PartialSegment other = ring_.partial_segment(group * m + p % m, slot);
      RONDO_RETURN_IF_ERROR(builder_.copy(own.rank, builder_.sums(own.rank), other.rank,
                                          other.output.part(slice.begin, slice.size).data, own.rank, output,
                                          "send chunk ", own.chunk, " to rank ", other.rank));
    }
    return {};
  }

 private:
  // The address in the inbox for another group's slice. No slice is larger than `slice` rounded up to the
  // alignment.
  void* region_of(const Ring::PartialSegment& own, int slot, int group, int64_t slice) const {
    const int64_t unit = ring::kChunkAlignment / size_of(dtype_);
    const int64_t stride = (slice + unit - 1) / unit * unit * size_of(ring_.partial_type());
    void* inbox = resources_.inbox(own.rank, slot);
    return static_cast<std::byte*>(Ring::aligned_in_slot(inbox, ring_.partial_type(), own.input)) +
           group * stride;
  }

  OperationBuilder& builder_;
  RankResources& resources_;
  const Ring& ring_;
  int groups_;
  DType dtype_;
};

}  // namespace

Status all_reduce(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs, Reduction reduction) {
  const DType dtype = outputs[0].dtype;
  const int m = builder.resources().options().group_size;
  Ring ring(builder, outputs, inputs, reduction, ring::chunks_of(outputs[0].size, m, dtype),
            ring::RingLayout::per_group);
  RONDO_RETURN_IF_ERROR(builder.fork());
  if (Exchange* exchange = builder.resources().exchange()) {
    RONDO_RETURN_IF_ERROR(
        ring.run_in_groups(0, [&] { return reduce_across_processes(builder, *exchange, ring); }));
  } else {
    RONDO_RETURN_IF_ERROR(ring.run_in_groups(Groups::reserved(ring.groups(), dtype), [&]() -> Status {
      RONDO_RETURN_IF_ERROR(builder.join_sums());
      for (int slot = 0; slot < ring::kSlots; ++slot)
        for (int p = 0; p < builder.ranks(); ++p)
          RONDO_RETURN_IF_ERROR(Groups(builder, ring).sum_slice(p, slot));
      return builder.join_sums();
    }));
  }
  return builder.join(OperationBuilder::Senders::prev);
}

}  // namespace rondo::hierarchical
