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
// If the groups are processes, step 2 uses messages (across_hosts/exchange.h). The order of the additions and
// the bits are the same.
#include <rondo/collectives/across_hosts/exchange.h>
#include <rondo/collectives/algorithms/hierarchical.h>
#include <rondo/collectives/algorithms/partial_sums.h>
#include <rondo/collectives/algorithms/ring_steps.h>

namespace rondo::hierarchical {

namespace {

using ring::Ring;

// Step 2 if all groups are in one process.
class Groups {
 public:
  Groups(OperationBuilder& builder, const Ring& ring, DType dtype, Reduction reduction)
      : builder_(builder),
        communicator_(builder.communicator()),
        ring_(ring),
        groups_(builder.ranks() / ring.ring_size()),
        dtype_(dtype),
        reduction_(reduction) {}

  // The space that copied slices need in an inbox slot beyond a segment: each may be longer by an alignment
  // unit.
  static int64_t reserved(int groups, DType dtype) {
    return groups * (ring::kChunkAlignment / size_of(dtype));
  }

  // Computes the slice of the rank at position p, in one slot.
  template <class LocationOf>
  Status sum_slice(int p, int slot, LocationOf location_of) {
    const int m = ring_.ring_size(), own_group = p / m;
    const Ring::PartialSegment own = ring_.partial_segment(p, slot, location_of);
    const ring::Chunk slice = ring::chunk_of(own.range.size, groups_, own_group, size_of(dtype_));
    if (slice.size == 0) return {};
    PartialSums sums(dtype_, ring_.partial_type(), reduction_, slice.size, builder_.ranks());
    for (int group = 0; group < groups_; ++group) {
      const Ring::PartialSegment other = ring_.partial_segment(group * m + p % m, slot, location_of);
      const ConstDataView partial = other.partial_sum.part(slice.begin, slice.size);
      if (group == own_group || communicator_.all_reach_all()) {
        sums.read(partial);
        continue;
      }
      const ConstDataView region = {region_of(own, slot, group, slice.size), slice.size, partial.dtype};
      RONDO_RETURN_IF_ERROR(builder_.copy(
          own.rank, builder_.sums(own.rank), {const_cast<void*>(region.data), own.rank},
          {partial.data, other.rank}, partial.bytes(), "copy chunk ", own.chunk, " from rank ", other.rank));
      sums.read(region);
    }
    const DataView output = own.output.part(slice.begin, slice.size);
    sums.write(output);
    if (communicator_.all_reach_all())
      for (int group = 0; group < groups_; ++group)
        if (group != own_group)
          sums.write(ring_.partial_segment(group * m + p % m, slot, location_of)
                         .output.part(slice.begin, slice.size));
    RONDO_RETURN_IF_ERROR(sums.enqueue(builder_, own.rank, own.partial_sum.part(slice.begin, slice.size),
                                       "add the groups' chunk ", own.chunk));
    if (communicator_.all_reach_all()) return {};
    for (int distance = 1; distance < groups_; ++distance) {
      const int group = (own_group + distance) % groups_;
      const Ring::PartialSegment other = ring_.partial_segment(group * m + p % m, slot, location_of);
      const DataView to = other.output.part(slice.begin, slice.size);
      RONDO_RETURN_IF_ERROR(builder_.copy(own.rank, builder_.sums(own.rank), {to.data, other.rank},
                                          {output.data, own.rank}, to.bytes(), "send chunk ", own.chunk,
                                          " to rank ", other.rank));
    }
    return {};
  }

 private:
  // The address in the inbox for another group's slice. No slice is larger than `slice` rounded up to the
  // alignment.
  void* region_of(const Ring::PartialSegment& own, int slot, int group, int64_t slice) const {
    const int64_t unit = ring::kChunkAlignment / size_of(dtype_);
    const int64_t stride = (slice + unit - 1) / unit * unit * size_of(ring_.partial_type());
    void* inbox = communicator_.inbox(own.rank, slot);
    return static_cast<std::byte*>(Ring::aligned_in_slot(inbox, ring_.partial_type(), own.input)) +
           group * stride;
  }

  OperationBuilder& builder_;
  Communicator& communicator_;
  const Ring& ring_;
  int groups_;
  DType dtype_;
  Reduction reduction_;
};

}  // namespace

Status all_reduce(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs, Reduction reduction) {
  const DType dtype = outputs[0].dtype;
  const int64_t size = outputs[0].size, bytes = size_of(dtype);
  Ring ring(builder, outputs, inputs, reduction, ring::RingLayout::per_group);
  const int m = ring.ring_size(), groups = builder.ranks() / m;
  const auto location_of = [&](int index) {
    const ring::Chunk chunk = ring::chunk_of(size, m, index, bytes);
    return Ring::ChunkLocation{chunk.begin, chunk.begin, chunk.size};
  };
  const int64_t chunk_size = ring::full_chunk_size(size, m, bytes);
  RONDO_RETURN_IF_ERROR(builder.fork());
  if (Exchange* exchange = builder.communicator().exchange()) {
    const auto segment_at = [&](int position, int slot) {
      return ring.partial_segment(position, slot, location_of);
    };
    RONDO_RETURN_IF_ERROR(ring.run_in_groups(chunk_size, 0, location_of, [&] {
      return exchange->reduce_across_processes(builder, segment_at, dtype, reduction);
    }));
  } else {
    Groups sums(builder, ring, dtype, reduction);
    RONDO_RETURN_IF_ERROR(
        ring.run_in_groups(chunk_size, Groups::reserved(groups, dtype), location_of, [&]() -> Status {
          RONDO_RETURN_IF_ERROR(builder.join_sums());
          for (int slot = 0; slot < ring::kSlots; ++slot)
            for (int p = 0; p < builder.ranks(); ++p)
              RONDO_RETURN_IF_ERROR(sums.sum_slice(p, slot, location_of));
          return builder.join_sums();
        }));
  }
  return builder.join(OperationBuilder::Senders::prev);
}

}  // namespace rondo::hierarchical
