// BatchPosition: where a shard's batch is in an epoch.
#pragma once

#include <cstdint>

namespace rondo {

// The position of a shard's batch in the epoch: sample i of the shard is number *step * batch + first + i.
// `step` is device memory, aligned to 8. `batch` is the size of the whole batch over all shards. `first` is
// the number of samples in the shards before this one.
struct BatchPosition {
  const int64_t* step = nullptr;
  int64_t batch = 0;
  int64_t first = 0;
};

}  // namespace rondo
