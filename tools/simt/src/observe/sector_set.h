// Sets of 32-byte sectors of memory, by sector number (address / 32).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace simt {

// The sectors that one block has touched. Reused for all blocks of a worker: clear() takes constant time.
class BlockSectors {
 public:
  void clear() {
    if (++generation_ == 0) {
      slots_.assign(slots_.size(), {});
      generation_ = 1;
    }
    size_ = 0;
  }
  // True if the sector was not in the set.
  bool insert(uint64_t sector) {
    if (2 * size_ >= slots_.size()) grow();
    return insert_new(sector);
  }
  size_t size() const { return size_; }

 private:
  struct Slot {
    uint64_t sector = 0;
    uint32_t generation = 0;
  };

  bool insert_new(uint64_t sector) {
    for (size_t i = sector * 0x9E3779B97F4A7C15u >> shift_;; i = (i + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[i];
      if (slot.generation != generation_) {
        slot = {sector, generation_};
        ++size_;
        return true;
      }
      if (slot.sector == sector) return false;
    }
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    --shift_;
    size_ = 0;
    for (const Slot& slot : old)
      if (slot.generation == generation_) insert_new(slot.sector);
  }

  int shift_ = 54;
  std::vector<Slot> slots_ = std::vector<Slot>(1024);
  uint32_t generation_ = 1;
  size_t size_ = 0;
};

// The sectors that a launch has read and written. Any thread may insert.
class LaunchSectors {
 public:
  struct Page;  // 64 KB of memory

  // The page with this number. `fresh` is called once, when it is made.
  template <class Fresh>
  Page& page(uint64_t number, Fresh fresh) {
    std::lock_guard lock(mutex_);
    auto& page = pages_[number];
    if (!page) {
      page = std::make_unique<Page>();
      fresh();
    }
    return *page;
  }
  static uint64_t page_number(uint64_t sector) { return sector >> 11; }

  struct Page {
    std::atomic<uint64_t> read[32] = {};
    std::atomic<uint64_t> written[32] = {};

    void insert(uint64_t sector, bool write) {
      std::atomic<uint64_t>& word = (write ? written : read)[sector >> 6 & 31];
      const uint64_t bit = uint64_t{1} << (sector & 63);
      if (!(word.load(std::memory_order_relaxed) & bit)) word.fetch_or(bit, std::memory_order_relaxed);
    }
  };

  uint64_t count(bool written) const;
  // Calls work(sector, read, written) for each sector.
  template <class Work>
  void for_each(Work work) const;

 private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
};

}  // namespace simt
