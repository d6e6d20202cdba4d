#include "heap.h"

#include <cstring>

namespace ptx {
namespace {

constexpr uint64_t kUnit = 16;  // CUDA's alignment

uint64_t whole_units(uint64_t bytes) { return (bytes + kUnit - 1) / kUnit * kUnit; }

}  // namespace

uint64_t Heap::allocate(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0 || bytes > bytes_) return 0;
  if (!memory_) memory_ = std::make_unique<char[]>(bytes_ + kUnit);
  const uint64_t start = whole_units(reinterpret_cast<uint64_t>(memory_.get()));
  uint64_t at = start;
  for (const auto& [begin, end] : used_) {  // the first gap that is large enough
    if (at + bytes + kUnit <= begin) break;
    at = whole_units(end) + kUnit;
  }
  if (at + bytes > start + bytes_) return 0;
  used_[at] = at + bytes;
  std::memset(reinterpret_cast<void*>(at), 0xFF, bytes);  // NaN, as in new memory of cudaMalloc
  return at;
}

bool Heap::release(uint64_t address) {
  const std::lock_guard lock(mutex_);
  return used_.erase(address) != 0;
}

bool Heap::find(uint64_t address, uint64_t* begin, uint64_t* end) const {
  const std::lock_guard lock(mutex_);
  auto found = used_.upper_bound(address);
  if (found == used_.begin() || address >= (--found)->second) return false;
  *begin = found->first;
  *end = found->second;
  return true;
}

}  // namespace ptx
