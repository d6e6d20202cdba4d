// Bandwidths from bytes and seconds.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rondo::program {

// Of a copy of `bytes` bytes from one place to another, in bytes per second.
constexpr double copy_bandwidth(int64_t bytes, double seconds) {
  return static_cast<double>(bytes) / seconds;
}

// Of a device's memory, in bytes per second: a copy of `bytes` bytes within it reads and writes each of them.
// The faster of two ways to copy counts.
constexpr double memory_bandwidth(int64_t bytes, double seconds_by_kernel, double seconds_by_copy) {
  return 2 * static_cast<double>(bytes) / std::min(seconds_by_kernel, seconds_by_copy);
}

}  // namespace rondo::program
