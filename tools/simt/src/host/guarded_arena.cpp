#include "guarded_arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <iterator>

namespace simt {

void* GuardedArena::allocate(size_t bytes, int device) {
  const std::lock_guard lock(mutex_);
  if (begin_ == 0) {
    void* const reserved =
        mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) return nullptr;
    begin_ = reinterpret_cast<uintptr_t>(reserved);
    next_ = begin_ + kGap;
  }
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t left = begin_ + kReserved - next_;
  if (bytes > left || left - bytes < kGap + page) return nullptr;
  const size_t pages = (bytes + page - 1) / page * page;
  void* const memory = reinterpret_cast<void*>(next_);
  if (mprotect(memory, pages, PROT_READ | PROT_WRITE) != 0) return nullptr;
  allocations_[next_] = {next_, bytes, device, false};
  next_ += pages + kGap;
  return memory;
}

bool GuardedArena::release(void* pointer) {
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(reinterpret_cast<uintptr_t>(pointer));
  if (found == allocations_.end()) return false;
  found->second.freed = true;
  // The pages become a part of the gap again, which merges their mapping with it.
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t pages = (found->second.bytes + page - 1) / page * page;
  madvise(pointer, pages, MADV_DONTNEED);
  mprotect(pointer, pages, PROT_NONE);
  return true;
}

std::optional<GuardedArena::Allocation> GuardedArena::nearest(uintptr_t address) const {
  const std::lock_guard lock(mutex_);
  if (!contains(address) || allocations_.empty()) return {};
  const auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return after->second;
  const Allocation& before = std::prev(after)->second;
  const bool is_before = address - before.begin < before.bytes || after == allocations_.end() ||
                         address - (before.begin + before.bytes) <= after->first - address;
  return is_before ? before : after->second;
}

}  // namespace simt
