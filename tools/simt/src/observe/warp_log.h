// WarpLog: the accesses of one warp since its threads last met, grouped to requests.
//
// The executor runs the lanes of a warp one after another, so the n-th execution of an instruction by lane 0
// comes long before the n-th execution by lane 31. The log keeps a request for each (instruction, n) until
// all lanes have met again.
#pragma once

#include <simt/observe.h>
#include <simt/warp_access.h>

#include <array>
#include <cstdint>
#include <vector>

#include "../base/observer.h"

namespace simt {

// An instruction that accesses memory, in 64 bits: its place needs 48.
class Instruction {
 public:
  Instruction() = default;
  explicit Instruction(const Access& access)
      : key_(reinterpret_cast<uint64_t>(access.place) | uint64_t{access.bytes} << 48 |
             static_cast<uint64_t>(access.kind) << 53 | static_cast<uint64_t>(access.space) << 56) {}

  const void* place() const { return reinterpret_cast<const void*>(key_ & ((uint64_t{1} << 48) - 1)); }
  int bytes() const { return static_cast<int>(key_ >> 48 & 31); }
  AccessKind kind() const { return static_cast<AccessKind>(key_ >> 53 & 7); }
  AccessSpace space() const { return static_cast<AccessSpace>(key_ >> 56); }
  uint64_t key() const { return key_; }
  bool operator==(const Instruction&) const = default;

 private:
  uint64_t key_ = 0;
};

class WarpLog {
 public:
  void add(unsigned lane, const Access& access) {
    WarpAccess& request = request_of(lane, access);
    request.active |= 1u << lane;
    request.address[lane] = access.address;
  }
  // The lane executes the instruction without an access: its next access belongs to the next request.
  void skip(unsigned lane, const Access& access) { request_of(lane, access); }
  void add_multiply_adds(unsigned lane, int count) { multiply_adds_[lane] += static_cast<uint64_t>(count); }

  // Calls f(instruction, request) for every request, then empties the log.
  template <class F>
  void flush(F f) {
    for (const uint32_t index : filled_) {
      Entry& entry = entries_[index];
      for (uint32_t i = 0; i < entry.used; ++i)
        if (entry.requests[i].active != 0) f(entry.instruction, entry.requests[i]);
      entry.used = 0;
      entry.executed = {};
    }
    filled_.clear();
    multiply_adds_ = {};
  }
  const std::array<uint64_t, 32>& multiply_adds() const { return multiply_adds_; }

 private:
  // The request of the lane's next execution of the instruction.
  WarpAccess& request_of(unsigned lane, const Access& access) {
    Entry& entry = find(Instruction(access));
    const uint32_t occurrence = entry.executed[lane]++;
    if (occurrence == entry.used) {
      if (entry.used == entry.requests.size()) entry.requests.emplace_back();
      WarpAccess& fresh = entry.requests[entry.used++];
      fresh.active = 0;
      fresh.bytes = static_cast<int>(access.bytes);
    }
    return entry.requests[occurrence];
  }

  struct Entry {
    Instruction instruction;
    std::array<uint32_t, 32> executed = {};  // times, by lane
    uint32_t used = 0;
    std::vector<WarpAccess> requests;  // the first `used`; the others keep their memory for later
  };

  // A place in the table of instructions: the instruction, and the index of its entry.
  struct Slot {
    Instruction instruction;
    uint32_t entry = 0;
  };

  Entry& find(Instruction instruction) {
    for (size_t i = first_slot(instruction);; i = next(i)) {
      const Slot& slot = table_[i];
      if (slot.instruction == instruction) {
        Entry& entry = entries_[slot.entry];
        if (entry.used == 0) filled_.push_back(slot.entry);
        return entry;
      }
      if (slot.instruction.key() == 0) return insert(instruction);
    }
  }
  Entry& insert(Instruction instruction) {
    if (2 * entries_.size() >= table_.size()) {
      table_.assign(2 * table_.size(), {});
      for (uint32_t i = 0; i < entries_.size(); ++i) place(entries_[i].instruction, i);
    }
    const auto index = static_cast<uint32_t>(entries_.size());
    place(instruction, index);
    filled_.push_back(index);
    entries_.emplace_back();
    entries_.back().instruction = instruction;
    return entries_.back();
  }
  void place(Instruction instruction, uint32_t entry) {
    size_t slot = first_slot(instruction);
    while (table_[slot].instruction.key() != 0) slot = next(slot);
    table_[slot] = {instruction, entry};
  }
  size_t first_slot(Instruction instruction) const {
    return instruction.key() * 0x9E3779B97F4A7C15u >> 32 & (table_.size() - 1);
  }
  size_t next(size_t slot) const { return (slot + 1) & (table_.size() - 1); }

  std::vector<Slot> table_ = std::vector<Slot>(256);  // by hash; its size is a power of two
  std::vector<Entry> entries_;
  std::vector<uint32_t> filled_;  // entries with requests
  std::array<uint64_t, 32> multiply_adds_ = {};
};

}  // namespace simt
