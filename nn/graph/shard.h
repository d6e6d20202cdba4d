// The part of a batch that a rank computes.
#pragma once

#include <cstdint>

namespace rondo::nn {

// Samples [first, first + size) of a batch.
struct Shard {
  int64_t first, size;
  bool operator==(const Shard&) const = default;
};

// The shard of `rank` in [0, ranks) of a batch >= 0. The shards are contiguous, in rank order, and cover the
// batch. Their sizes differ by at most one; with fewer samples than ranks some are empty. batch * ranks must
// fit in 63 bits.
constexpr Shard shard_of(int64_t batch, int64_t rank, int64_t ranks) {
  const int64_t first = batch * rank / ranks;
  return {first, batch * (rank + 1) / ranks - first};
}

}  // namespace rondo::nn
