#include "kernel_heap.h"

#include <simt/settings.h>
#include <simt/translated.h>

#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>

#include "../base/wrong_address.h"

namespace simt {
namespace {

std::mutex mutex;
// Bytes by address. What was freed stays until its address is used again.
std::map<uintptr_t, size_t>& allocations() {
  static std::map<uintptr_t, size_t> all;
  return all;
}

}  // namespace

void* kernel_malloc(size_t bytes) {
  void* const memory = std::malloc(bytes);
  kernel_heap_is_used = true;
  if (memory && settings().bounds) {
    const std::lock_guard lock(mutex);
    allocations()[reinterpret_cast<uintptr_t>(memory)] = bytes;
  }
  return memory;
}

bool in_kernel_heap(uintptr_t address) {
  const std::lock_guard lock(mutex);
  const auto after = allocations().upper_bound(address);
  if (after == allocations().begin()) return false;
  const auto& [begin, bytes] = *std::prev(after);
  return address - begin < bytes;
}

}  // namespace simt
