// The arguments that the operations have in common.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/collectives/algorithm.h>
#include <rondo/collectives/data_view.h>
#include <rondo/collectives/reduction.h>
#include <rondo/kernels/core/indexed.h>

namespace rondo {

inline constexpr int kMaxRanks = 64;

// One entry per rank, in rank order.
using RankOutputs = RankSpan<const DataView>;
using RankInputs = RankSpan<const ConstDataView>;
using RankStreams = RankSpan<const cudaStream_t>;

struct ReduceOptions {
  Reduction reduction = Reduction::sum;
  Algorithm algorithm = Algorithm::automatic;
  SumOrder order = SumOrder::left_to_right;  // balanced_tree: only for the algorithms direct and root
};

}  // namespace rondo
