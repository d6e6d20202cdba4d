// Races: two accesses to the same bytes by different warps, of which one writes, without an order between
// them (PTX ISA 8.10 "Ordering", "Causality order"). Orders are kept as clocks of warps: of the lanes of one
// warp, none is missed. Used with Checks::races only.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "instruction.h"

namespace ptx {

struct Warp;
struct Block;

// For each warp, how much of what it did is ordered before something.
class Clock {
 public:
  uint32_t of(uint32_t warp) const {
    const auto found = times_.find(warp);
    return found == times_.end() ? 0 : found->second;
  }
  void join(const Clock& other) {
    for (const auto& [warp, time] : other.times_) {
      uint32_t& own = times_[warp];
      if (own < time) own = time;
    }
  }
  void advance(uint32_t warp) { ++times_[warp]; }
  void clear() { times_.clear(); }

 private:
  std::unordered_map<uint32_t, uint32_t> times_;
};

// An access to a word of memory.
struct WordAccess {
  uint32_t warp = 0;
  uint32_t time = 0;  // 0: there is none
  uint8_t bytes = 0;  // a bit for each byte of the word
  bool strong = false;
  const Instruction* instruction = nullptr;
};

struct WordCell {
  WordAccess write;
  std::vector<WordAccess> reads;  // since the write
};

using WordCells = std::unordered_map<uint64_t, WordCell>;

// What the blocks of a launch share.
struct RaceLog {
  std::mutex mutex;
  WordCells global;
  // What is ordered before the value that a strong access at an address has left.
  std::unordered_map<uint64_t, Clock> released;
};

// The clock of a warp.
struct WarpClock {
  uint32_t number = 0;  // of the warp in the launch
  Clock now;
  Clock at_fence;    // at its latest fence: what strong writes after it release
  Clock to_acquire;  // what strong reads have seen: acquired by the next fence
};

enum class Order : uint8_t { relaxed = 0, acquire = 1, release = 2, both = 3 };

void start_clock(Warp& warp);

// An access of a lane. Faults if it races. `shared`: the offset in the block's memory; else a global address.
void note_shared_access(const Warp& warp, Block& owner, uint32_t offset, uint32_t bytes, bool write,
                        bool strong);
void note_global_access(const Warp& warp, uint64_t address, uint32_t bytes, bool write, bool strong);

// A bulk copy has written the bytes: waits for its mbarrier order it.
void forget_accesses(Block& block, uint32_t offset, uint32_t bytes);

// A strong access: to be called before the value is written, or after it was read.
void release_by(Warp& warp, uint64_t address, Order order);
void acquire_by(Warp& warp, uint64_t address, Order order);

void fence_clock(Warp& warp);

// The warp arrives at a barrier, whose clock collects those of all that arrive; and it goes on behind it.
void arrive_clock(Warp& warp, Clock& barrier);
void leave_clock(Warp& warp, const Clock& barrier);

}  // namespace ptx
