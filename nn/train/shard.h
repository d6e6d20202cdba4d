// Which part of a batch a rank has.
#pragma once

#include <cstdint>

namespace rondo::nn {

// Samples [first, first + size) of a batch.
struct Shard {
  int64_t first, size;
  bool operator==(const Shard&) const = default;
};

// The shard of `rank` in [0, ranks) of `batch` >= 0 samples. The shards follow each other in the order of the ranks and cover
// the batch; their sizes differ by at most one, and some are empty where there are fewer samples than ranks. batch * ranks
// must fit 63 bits.
constexpr Shard shard_of(int64_t batch, int64_t rank, int64_t ranks) {
  const int64_t first = batch * rank / ranks;
  return {first, batch * (rank + 1) / ranks - first};
}

}  // namespace rondo::nn
