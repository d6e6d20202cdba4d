// The sample that each block of the kernels for batches copies.
#pragma once

#include <rondo/kernels/core/view.h>
#include <rondo/kernels/data/batch_position.h>

#include <cstdint>

namespace rondo {

// The index in the data set of sample i of the shard, or a negative number if there is none.
__device__ inline int64_t sample_at(BatchPosition shard, int64_t i, VectorView<const int32_t> order,
                                    int64_t samples) {
  const int64_t end = order.data == nullptr ? samples : order.size;
  const int64_t step = *shard.step;
  if (step < 0 || step > end / shard.batch) return -1;  // otherwise step * batch could overflow
  const int64_t position = step * shard.batch + shard.first + i;
  if (position >= end) return -1;
  const int64_t sample = order.data == nullptr ? position : order.data[position];
  return sample < samples ? sample : -1;
}

}  // namespace rondo
