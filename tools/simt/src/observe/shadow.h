// Shadow memory: what the race detector remembers of each byte, which is the last plain write, and the reads
// and atomics since.
//
// A page describes 4096 bytes in units of equal size. It begins as one unit, and is divided further when an
// access covers a unit in part. So every access covers whole units, and a large copy costs little.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace simt {

// An access that is remembered.
struct Cell {
  enum Flags : uint8_t {
    kAtomic = 1,
    // Asynchronous: `barrier` is the number of the group, of cp.async or wgmma; of a bulk copy the number of
    // its mbarrier, and `step` the phase.
    kAsync = 2,
    // Only of Unit::write:
    kWriter = 4,      // there is a last write; else the cell has only the next two flags
    kDefined = 8,     // the memory has a value
    kMoreReads = 16,  // Page::more_reads has further reads of this unit
  };

  uint32_t operation = 0;          // IssuedOperation::number; 0: none
  uint32_t cluster = 0;            // its first block
  uint32_t barrier = 0, step = 0;  // ThreadOrder::Time
  uint32_t place = 0;
  uint16_t thread = 0;  // of the cluster
  uint8_t bytes = 0;
  uint8_t kind : 3 = 0;  // AccessKind
  uint8_t flags : 5 = 0;
};

struct Unit {
  Cell write;
  std::array<Cell, 2> reads;
};

class Page {
 public:
  static constexpr uint32_t kBytes = 4096;

  Page(uint32_t bytes, bool defined) : bytes_(bytes), units_(1) {
    if (defined) units_[0].write.flags = Cell::kDefined;
  }

  // Calls f(unit, its index, its offset) for the units of [offset, offset + bytes) of this page.
  template <class F>
  void visit(uint32_t offset, uint32_t bytes, F f) {
    const uint32_t end = offset + bytes;
    // The last unit of a page may be shorter than the others.
    const uint32_t bounds = offset | (end == bytes_ ? 0 : end);
    if (bounds & ((1u << shift_) - 1)) divide(static_cast<uint32_t>(std::countr_zero(bounds)));
    for (uint32_t i = offset >> shift_; i << shift_ < end; ++i) f(units_[i], i, i << shift_);
  }
  uint32_t unit_bytes(uint32_t index) const { return std::min(bytes_ - (index << shift_), 1u << shift_); }

  // Reads of more operations than a unit has room for, by unit. Valid if the unit has kMoreReads.
  std::unordered_map<uint32_t, std::vector<Cell>> more_reads;

 private:
  void divide(uint32_t shift) {
    const uint32_t factor = shift_ - shift;
    std::vector<Unit> units((bytes_ + (1u << shift) - 1) >> shift);
    for (uint32_t i = 0; i < units.size(); ++i) units[i] = units_[i >> factor];
    std::unordered_map<uint32_t, std::vector<Cell>> reads;
    for (const auto& [unit, cells] : more_reads)
      for (uint32_t i = unit << factor; i < std::min<size_t>((unit + 1) << factor, units.size()); ++i)
        reads[i] = cells;
    units_ = std::move(units);
    more_reads = std::move(reads);
    shift_ = shift;
  }

  uint32_t bytes_;
  uint32_t shift_ = 12;
  std::vector<Unit> units_;
};

}  // namespace simt
