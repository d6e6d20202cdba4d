#include <rondo/collectives/buckets.h>
#include <rondo/collectives/pack.h>

namespace rondo {

namespace {

using Vectors = std::span<const DataView>;

// The end of a bucket that begins at `first`: as many vectors as have the same type and fit, at least one.
size_t end_of_bucket(Vectors vectors, size_t first, int64_t room) {
  const auto bytes_of = [&](size_t index) {  // each vector begins aligned, so its own size is sufficient
    return packed_size(vectors.subspan(index, 1)) * size_of(vectors[index].dtype);
  };
  size_t last = first + 1;
  for (int64_t bytes = bytes_of(first); last < vectors.size(); ++last) {
    bytes += bytes_of(last);
    if (vectors[last].dtype != vectors[first].dtype || bytes > room) break;
  }
  return last;
}

}  // namespace

Status reduce_in_buckets(OperationBuilder& builder, std::span<const std::vector<DataView>> data,
                         const InPlaceAllReduce& all_reduce) {
  RankResources& resources = builder.resources();
  OperationBuilder inner = builder.nested();
  RONDO_RETURN_IF_ERROR(builder.fork());
  for (size_t first = 0, last; first < data[0].size(); first = last) {
    last = end_of_bucket(data[0], first, resources.options().bucket_bytes);
    const bool packed = last - first > 1;
    PerRank<Vectors> parts;
    PerRank<DataView> reduced;
    for (const std::vector<DataView>& vectors : data) {
      const int rank = parts.count();
      parts.push_back(Vectors(vectors).subspan(first, last - first));
      reduced.push_back(parts[rank][0]);
      if (!packed) continue;
      reduced[rank] = {resources.bucket(rank), packed_size(parts[rank]), parts[rank][0].dtype};
      RONDO_RETURN_IF_ERROR(builder.on(rank, [&] {
        return pack(builder.operation(), reduced[rank].data, parts[rank], builder.sums(rank));
      }));
    }
    RONDO_RETURN_IF_ERROR(all_reduce(inner, reduced));
    for (int rank = 0; packed && rank < builder.ranks(); ++rank)
      RONDO_RETURN_IF_ERROR(builder.on(rank, [&] {
        return unpack(builder.operation(), parts[rank], reduced[rank].data, builder.sums(rank));
      }));
  }
  builder.set_steps(0, 0);  // several rings record the same events, which show no progress then
  return builder.join(OperationBuilder::Senders::prev);
}

}  // namespace rondo
