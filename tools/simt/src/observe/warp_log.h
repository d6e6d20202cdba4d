// WarpLog: the accesses of one warp since its threads last met, grouped to requests.
//
// The executor runs the lanes of a warp one after another, so the n-th execution of an instruction by lane 0
// comes long before the n-th execution by lane 31. The log keeps a request for each (instruction, n) until all
// lanes have met again.
#pragma once

#include <simt/observe.h>
#include <simt/warp_access.h>

#include <array>
#include <cstdint>
#include <vector>

#include "observer.h"

namespace simt {

// The accesses of one instruction.
struct Instruction {
  const void* place = nullptr;
  AccessKind kind = AccessKind::load;
  AccessSpace space = AccessSpace::global;
  uint8_t bytes = 0;

  bool operator==(const Instruction&) const = default;
};

class WarpLog {
 public:
  void add(unsigned lane, const Access& access) {
    Entry& entry = find({access.place, access.kind, access.space, static_cast<uint8_t>(access.bytes)});
    const uint32_t occurrence = entry.executed[lane]++;
    if (occurrence == entry.used) {
      if (entry.used == entry.requests.size()) entry.requests.emplace_back();
      WarpAccess& fresh = entry.requests[entry.used++];
      fresh.active = 0;
      fresh.bytes = static_cast<int>(access.bytes);
    }
    WarpAccess& request = entry.requests[occurrence];
    request.active |= 1u << lane;
    request.address[lane] = access.address;
  }
  void add_multiply_adds(unsigned lane, int count) { multiply_adds_[lane] += static_cast<uint64_t>(count); }

  // Calls f(instruction, request) for every request, then empties the log.
  template <class F>
  void flush(F f) {
    for (const uint32_t index : filled_) {
      Entry& entry = entries_[index];
      for (uint32_t i = 0; i < entry.used; ++i) f(entry.instruction, entry.requests[i]);
      entry.used = 0;
      entry.executed = {};
    }
    filled_.clear();
    multiply_adds_ = {};
  }
  const std::array<uint64_t, 32>& multiply_adds() const { return multiply_adds_; }

 private:
  struct Entry {
    Instruction instruction;
    std::array<uint32_t, 32> executed = {};  // times, by lane
    uint32_t used = 0;
    std::vector<WarpAccess> requests;  // the first `used`; the others keep their memory for later
  };

  Entry& find(const Instruction& instruction) {
    for (size_t slot = first_slot(instruction);; slot = next(slot)) {
      if (table_[slot] == 0) return insert(slot, instruction);
      Entry& entry = entries_[table_[slot] - 1];
      if (entry.instruction == instruction) {
        if (entry.used == 0) filled_.push_back(table_[slot] - 1);
        return entry;
      }
    }
  }
  Entry& insert(size_t slot, const Instruction& instruction) {
    if (2 * entries_.size() >= table_.size()) {
      grow();
      return find(instruction);
    }
    entries_.emplace_back();
    entries_.back().instruction = instruction;
    table_[slot] = static_cast<uint32_t>(entries_.size());
    filled_.push_back(table_[slot] - 1);
    return entries_.back();
  }
  void grow() {
    table_.assign(2 * table_.size(), 0);
    for (uint32_t index = 0; index < entries_.size(); ++index) {
      size_t slot = first_slot(entries_[index].instruction);
      while (table_[slot] != 0) slot = next(slot);
      table_[slot] = index + 1;
    }
  }
  size_t first_slot(const Instruction& instruction) const {
    const uint64_t hash = (reinterpret_cast<uintptr_t>(instruction.place) +
                           (static_cast<uint64_t>(instruction.kind) << 56) + instruction.bytes) *
                          0x9E3779B97F4A7C15u;
    return hash >> 32 & (table_.size() - 1);
  }
  size_t next(size_t slot) const { return (slot + 1) & (table_.size() - 1); }

  std::vector<uint32_t> table_ = std::vector<uint32_t>(256, 0);  // index in entries_ + 1, by hash; 0: empty
  std::vector<Entry> entries_;
  std::vector<uint32_t> filled_;  // entries with requests
  std::array<uint64_t, 32> multiply_adds_ = {};
};

}  // namespace simt
