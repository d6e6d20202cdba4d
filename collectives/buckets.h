// Many vectors in one operation.
#pragma once

#include <rondo/collectives/operation_builder.h>

#include <functional>
#include <span>
#include <vector>

namespace rondo {

// Calls all_reduce(nested builder, one vector of each rank) for all data, in place. data[r][k] is vector k of
// rank r. Consecutive vectors of one type are packed into the ranks' buckets, as many as fit, and reduced
// together. A vector larger than the bucket is reduced where it is.
using InPlaceAllReduce = std::function<Status(OperationBuilder&, RankOutputs)>;
Status reduce_in_buckets(OperationBuilder& builder, std::span<const std::vector<DataView>> data,
                         const InPlaceAllReduce& all_reduce);

}  // namespace rondo
