// The memory of malloc() and free() in kernels: one for each device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace ptx {

// All functions may be called by several threads at once.
class Heap {
 public:
  explicit Heap(size_t bytes) : bytes_(bytes) {}

  uint64_t allocate(uint64_t bytes);  // 0: there is no room
  bool release(uint64_t address);     // false: nothing is allocated there
  bool find(uint64_t address, uint64_t* begin, uint64_t* end) const;

 private:
  const size_t bytes_;
  mutable std::mutex mutex_;
  std::unique_ptr<char[]> memory_;     // of the first allocation on, until the end
  std::map<uint64_t, uint64_t> used_;  // begin and end, with a gap behind each, so that overruns are found
};

}  // namespace ptx
