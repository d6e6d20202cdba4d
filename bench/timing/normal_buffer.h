// Device memory with N(0, 1) values.
#pragma once

#include <rondo/bench/timing/inputs.h>
#include <rondo/kernels/runtime/buffer.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rondo::bench {

// The number of values after which normal_buffer() repeats: prime, so that the rows of a matrix differ.
inline constexpr int64_t kNormalPeriod = 1048573;

// Writes `values`, of which there are `period` bytes, to device memory until `bytes` are full.
void fill_repeatedly(void* data, int64_t bytes, const void* values, int64_t period);

// N(0, 1) values in device memory for `count` elements. They repeat after kNormalPeriod. Do not time zeros or
// constants: with them a GPU draws less power and runs faster than with real data. T: float, or 16 bits.
template <class T>
void fill_normal_values(T* data, int64_t count, uint64_t seed) {
  const std::vector<float> floats = normal_values(std::min(count, kNormalPeriod), seed);
  const std::vector<T> values(floats.begin(), floats.end());
  fill_repeatedly(data, count * static_cast<int64_t>(sizeof(T)), values.data(),
                  static_cast<int64_t>(values.size() * sizeof(T)));
}

// The same in a new buffer on the current device.
template <class T = float>
Buffer<T> normal_buffer(int64_t count, uint64_t seed) {
  Buffer<T> buffer(count);
  fill_normal_values(buffer.data(), count, seed);
  return buffer;
}

}  // namespace rondo::bench
