// GlobalShadow: the shadow pages of all allocations of the devices and of pinned host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "../host/memory.h"
#include "shadow.h"

namespace simt {

class GlobalShadow {
 public:
  struct Allocation {
    uintptr_t begin = 0;
    size_t bytes = 0;
    int device = Memory::kHost;
    bool defined = false;  // from the beginning, as far as is known
    std::vector<std::unique_ptr<Page>> pages;
  };

  explicit GlobalShadow(const Memory& memory) : memory_(memory) {}

  void allocated(uintptr_t begin, size_t bytes, int device) {
    // Writes of host code to pinned memory are not seen.
    add(begin, bytes, device, device == Memory::kHost);
  }
  void freed(uintptr_t begin) {
    const auto found = allocations_.find(begin);
    if (found == allocations_.end()) return;
    allocations_.erase(found);
    cache_.fill({});
  }

  // Calls f(page, offset in the page, bytes) for the pieces of a range that lies in one allocation. Returns
  // false if it does not lie in any.
  template <class F>
  bool visit(uintptr_t begin, size_t bytes, F f) {
    const uintptr_t line = begin / kLine;
    Cached& cached = cache_[line % kCached];
    if (cached.line == line) {
      const uint32_t offset = static_cast<uint32_t>(begin - cached.page_begin);
      if (offset + bytes <= cached.page_bytes) {
        f(*cached.page, offset, static_cast<uint32_t>(bytes));
        return true;
      }
    }
    Allocation* const allocation = find(begin);
    if (!allocation) return false;
    for (size_t at = begin - allocation->begin, end = at + bytes; at < end;) {
      const size_t number = at / Page::kBytes;
      const uint32_t offset = static_cast<uint32_t>(at % Page::kBytes);
      const uint32_t page_bytes = bytes_of(*allocation, number);
      const uint32_t piece = static_cast<uint32_t>(std::min<size_t>(end - at, page_bytes - offset));
      std::unique_ptr<Page>& page = allocation->pages[number];
      if (!page) page = std::make_unique<Page>(page_bytes, allocation->defined);
      cached = {line, page.get(), allocation->begin + number * Page::kBytes, page_bytes};
      if (at + allocation->begin != begin || piece != bytes) cached = {};  // more than one page
      f(*page, offset, piece);
      at += piece;
    }
    return true;
  }

  // The allocation that contains an address; null if there is none.
  Allocation* find(uintptr_t address) {
    if (Allocation* const known = find_known(address)) return known;
    const auto range = memory_.find(reinterpret_cast<const void*>(address));
    if (!range || address - range->begin >= range->bytes) return nullptr;
    add(range->begin, range->bytes, range->device, /*defined=*/true);  // older than the race detector
    return find_known(address);
  }

 private:
  // Allocations begin at multiples of this, so a line belongs to one page.
  static constexpr uintptr_t kLine = 256;
  static constexpr size_t kCached = 4096;
  struct Cached {
    uintptr_t line = 0;
    Page* page = nullptr;
    uintptr_t page_begin = 0;
    uint32_t page_bytes = 0;
  };

  void add(uintptr_t begin, size_t bytes, int device, bool defined) {
    Allocation& allocation = allocations_[begin];
    allocation = {begin, bytes, device, defined, {}};
    allocation.pages.resize((bytes + Page::kBytes - 1) / Page::kBytes);
  }
  Allocation* find_known(uintptr_t address) {
    auto after = allocations_.upper_bound(address);
    if (after == allocations_.begin()) return nullptr;
    Allocation& allocation = std::prev(after)->second;
    return address - allocation.begin < allocation.bytes ? &allocation : nullptr;
  }
  static uint32_t bytes_of(const Allocation& allocation, size_t page) {
    return static_cast<uint32_t>(std::min<size_t>(Page::kBytes, allocation.bytes - page * Page::kBytes));
  }

  const Memory& memory_;
  std::map<uintptr_t, Allocation> allocations_;
  std::array<Cached, kCached> cache_ = {};
};

}  // namespace simt
