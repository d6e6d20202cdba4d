// SharedShadow: the shadow pages of the shared memory of a cluster's blocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "shadow.h"

namespace simt {

class SharedShadow {
 public:
  // A new cluster. Each of its blocks has `bytes`, and is added when it begins.
  void start(size_t bytes) {
    bytes_ = bytes;
    blocks_ = 0;
  }
  void add(uintptr_t begin) {
    if (memories_.size() == blocks_) memories_.emplace_back();
    Memory& memory = memories_[blocks_++];
    memory.begin = begin;
    memory.pages.resize((bytes_ + Page::kBytes - 1) / Page::kBytes);
  }
  // Pages are kept for the next cluster; forget() drops them.
  void forget() { memories_.clear(); }

  unsigned blocks() const { return blocks_; }
  // The block that has an address; blocks(): none.
  unsigned rank_of(uintptr_t address) const {
    unsigned rank = 0;
    while (rank < blocks_ && address - memories_[rank].begin >= bytes_) ++rank;
    return rank;
  }
  size_t offset_of(uintptr_t address, unsigned rank) const { return address - memories_[rank].begin; }

  // Calls f(page, offset in the page, bytes) for the pieces of a range of block `rank`. Pages are whole, also
  // the last one: blocks of other launches, with more shared memory, may come in between.
  template <class F>
  void visit(unsigned rank, uintptr_t begin, size_t bytes, F f) {
    if (rank >= blocks_) return;
    Memory& memory = memories_[rank];
    for (size_t at = begin - memory.begin, end = std::min(at + bytes, bytes_); at < end;) {
      const uint32_t offset = static_cast<uint32_t>(at % Page::kBytes);
      const uint32_t piece = static_cast<uint32_t>(std::min<size_t>(end - at, Page::kBytes - offset));
      std::unique_ptr<Page>& page = memory.pages[at / Page::kBytes];
      if (!page) page = std::make_unique<Page>(Page::kBytes, /*defined=*/false);
      f(*page, offset, piece);
      at += piece;
    }
  }

 private:
  struct Memory {
    uintptr_t begin = 0;
    std::vector<std::unique_ptr<Page>> pages;
  };

  size_t bytes_ = 0;
  unsigned blocks_ = 0;
  std::vector<Memory> memories_;  // of the blocks, and of those of earlier clusters
};

}  // namespace simt
