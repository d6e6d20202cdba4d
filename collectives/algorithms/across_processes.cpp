// Each process is a group of the algorithm. Its ring has left the partial sum of each chunk on one of its
// ranks. The partial sums go through pinned host memory, segment by segment:
//
//   1. copy      Every rank copies its segments to the host, on its stream `sums`.
//   2. message   Process j receives slice j of every segment from every other process.
//   3. sum       Process j adds slice j of all processes, from process 0 to the last, and finishes the sum.
//                The kernel of all sums (reduce_vectors()) reads and writes the pinned memory.
//   4. message   Process j sends the finished slice to every other process.
//   5. copy      Every rank copies the finished segments to its output.
//
// A message is one host function on rank 0's stream, with a barrier of the ranks before and after it. The
// streams wait for it as for any other work, so a captured graph contains it and the caller's thread does not
// wait.
#include <rondo/collectives/algorithms/across_processes.h>
#include <rondo/collectives/algorithms/partial_sums.h>

namespace rondo::hierarchical {

namespace {

using ring::Ring;
using PartialSegment = Ring::PartialSegment;
using Messages = Exchange::Messages;

Status send_and_receive(OperationBuilder& builder, Exchange& exchange, Messages messages) {
  RONDO_RETURN_IF_ERROR(builder.join_sums());
  RONDO_RETURN_IF_ERROR(builder.on(0, [&] {
    return exchange.enqueue(std::move(messages), builder.sums(0), builder.captured(),
                            builder.resources().trace());
  }));
  return builder.join_sums();
}

}  // namespace

Status reduce_across_processes(OperationBuilder& builder, Exchange& exchange, const Ring& ring) {
  const int processes = exchange.group().size(), own = exchange.group().index(), ranks = builder.ranks();
  const DType dtype = ring.dtype();
  Messages partial_sums{builder.operation(), "partial sums"},
      finished_sums{builder.operation(), "finished sums"};
  const auto slice_of = [&](const PartialSegment& segment, int process) {
    return ring::chunk_of(segment.range.size, processes, process, size_of(dtype));
  };
  const auto each_segment = [&](auto work) -> Status {
    for (int slot = 0; slot < ring::kSlots; ++slot)
      for (int position = 0; position < ranks; ++position) {
        const PartialSegment segment = ring.partial_segment(position, slot);
        if (segment.range.size > 0) RONDO_RETURN_IF_ERROR(work(segment, position, slot));
      }
    return {};
  };
  // The finished segment replaces the partial one, which has been sent before.
  const auto staged_as = [&](DType type, const PartialSegment& segment, int position, int slot) {
    return DataView(Ring::aligned_in_slot(exchange.staged(position, slot), type, segment.input),
                    segment.range.size, type);
  };
  const auto received_from = [&](int process, const PartialSegment& segment, int position, int slot) {
    const DType type = segment.partial_sum.dtype;
    std::byte* slice = exchange.received(position, slot, process);
    return DataView(Ring::aligned_in_slot(slice, type, segment.input), slice_of(segment, own).size, type);
  };

  RONDO_RETURN_IF_ERROR(each_segment([&](const PartialSegment& segment, int position, int slot) -> Status {
    const DataView stage = staged_as(segment.partial_sum.dtype, segment, position, slot);
    for (int process = 0; process < processes; ++process) {
      if (process == own) continue;
      const ring::Chunk slice = slice_of(segment, process);
      const DataView out = stage.part(slice.begin, slice.size);
      const DataView in = received_from(process, segment, position, slot);
      if (out.size > 0) partial_sums.sends.push_back({process, out.data, out.bytes()});
      if (in.size > 0) partial_sums.receives.push_back({process, in.data, in.bytes()});
    }
    return builder.copy(segment.rank, builder.sums(segment.rank), segment.rank, stage.data, segment.rank,
                        segment.partial_sum, "chunk ", segment.chunk, " to the host");
  }));
  RONDO_RETURN_IF_ERROR(send_and_receive(builder, exchange, std::move(partial_sums)));

  RONDO_RETURN_IF_ERROR(each_segment([&](const PartialSegment& segment, int position, int slot) -> Status {
    const DataView stage = staged_as(dtype, segment, position, slot);
    const ring::Chunk mine = slice_of(segment, own);
    const DataView result = stage.part(mine.begin, mine.size);
    for (int process = 0; process < processes; ++process) {
      if (process == own) continue;
      const ring::Chunk slice = slice_of(segment, process);
      const DataView theirs = stage.part(slice.begin, slice.size);
      if (result.size > 0) finished_sums.sends.push_back({process, result.data, result.bytes()});
      if (theirs.size > 0) finished_sums.receives.push_back({process, theirs.data, theirs.bytes()});
    }
    if (mine.size == 0) return {};
    PartialSums sums(dtype, segment.partial_sum.dtype, ring.reduction(), mine.size, ranks * processes);
    const DataView own_part = segment.partial_sum.part(mine.begin, mine.size);
    for (int process = 0; process < processes; ++process)
      sums.read(process == own ? own_part : received_from(process, segment, position, slot), segment.rank);
    sums.write(result, segment.rank);
    return sums.enqueue(builder, segment.rank, own_part, "add the processes' chunk ", segment.chunk);
  }));
  RONDO_RETURN_IF_ERROR(send_and_receive(builder, exchange, std::move(finished_sums)));

  return each_segment([&](const PartialSegment& segment, int position, int slot) {
    const DataView stage = staged_as(dtype, segment, position, slot);
    return builder.copy(segment.rank, builder.sums(segment.rank), segment.rank, segment.output.data,
                        segment.rank, stage, "chunk ", segment.chunk, " from the host");
  });
}

}  // namespace rondo::hierarchical
