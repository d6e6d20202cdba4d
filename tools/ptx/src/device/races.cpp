#include "races.h"

#include <algorithm>

#include "block.h"
#include "fault.h"
#include "place.h"

namespace ptx {
namespace {

std::string name_of(const LaunchState& launch, const WordAccess& access, bool write) {
  return concat(access.strong ? "strong " : "", write ? "write" : "read", " by warp ", access.warp,
                " of the launch at ", describe_instruction(launch, access.instruction));
}

// Faults if `access` has no order with an earlier one.
void note(const Warp& warp, WordCell& cell, const WordAccess& access, bool write, uint64_t address,
          const char* memory) {
  const auto races_with = [&](const WordAccess& earlier) {
    return earlier.time != 0 && earlier.warp != access.warp && (earlier.bytes & access.bytes) != 0 &&
           !(earlier.strong && access.strong) && earlier.time > warp.clock.now.of(earlier.warp);
  };
  const auto race = [&](const WordAccess& earlier, bool earlier_writes) {
    const LaunchState& launch = *warp.block->launch;
    fail(kLaunchFailure, "race at ", memory, " address ", hex(address), ": ", name_of(launch, access, write),
         " has no order with the ", name_of(launch, earlier, earlier_writes));
  };
  if (races_with(cell.write)) race(cell.write, true);
  if (!write) {
    const auto own = std::find_if(cell.reads.begin(), cell.reads.end(),
                                  [&](const WordAccess& read) { return read.warp == access.warp; });
    if (own == cell.reads.end()) {
      cell.reads.push_back(access);
    } else {
      *own = access;
    }
    return;
  }
  for (const WordAccess& read : cell.reads)
    if (races_with(read)) race(read, false);
  cell.write = access;
  cell.reads.clear();
}

void note_words(const Warp& warp, WordCells& cells, uint64_t address, uint32_t bytes, bool write, bool strong,
                const char* memory) {
  const uint32_t number = warp.clock.number;
  for (uint64_t word = address / 4; word <= (address + bytes - 1) / 4; ++word) {
    uint8_t mask = 0;
    for (uint64_t byte = 0; byte < 4; ++byte)
      if (word * 4 + byte >= address && word * 4 + byte < address + bytes)
        mask |= static_cast<uint8_t>(1u << byte);
    note(warp, cells[word], {number, warp.clock.now.of(number), mask, strong, warp.at}, write, word * 4,
         memory);
  }
}

// Shared addresses of different clusters are different memory.
uint64_t key_of(const Warp& warp, uint64_t address) {
  const bool shared = address >> kWindowShift == 1 || address < uint64_t{1} << 32;
  return shared ? (address & 0xFFFFFFFFu) | (warp.block->cluster->number + 1) << 40 : address;
}

RaceLog* log_of(const Warp& warp) { return warp.block->launch->races.get(); }

}  // namespace

void start_clock(Warp& warp) {
  const Block& block = *warp.block;
  const size_t warps = block.warps.size();
  const uint64_t block_number = block.cluster->number * block.cluster->blocks.size() + block.rank;
  warp.clock = {};
  warp.clock.number = static_cast<uint32_t>(block_number * warps + static_cast<uint64_t>(warp.index));
  warp.clock.now.advance(warp.clock.number);
}

void note_shared_access(const Warp& warp, Block& owner, uint32_t offset, uint32_t bytes, bool write,
                        bool strong) {
  if (log_of(warp)) note_words(warp, owner.accesses, offset, bytes, write, strong, "shared");
}

void note_global_access(const Warp& warp, uint64_t address, uint32_t bytes, bool write, bool strong) {
  RaceLog* const log = log_of(warp);
  if (!log) return;
  const std::lock_guard<std::mutex> lock(log->mutex);
  note_words(warp, log->global, address, bytes, write, strong, "global");
}

void forget_accesses(Block& block, uint32_t offset, uint32_t bytes) {
  if (!block.launch->races) return;
  for (uint32_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word) block.accesses.erase(word);
}

void release_by(Warp& warp, uint64_t address, Order order) {
  RaceLog* const log = log_of(warp);
  if (!log) return;
  const std::lock_guard<std::mutex> lock(log->mutex);
  WarpClock& clock = warp.clock;
  const bool releases = order == Order::release || order == Order::both;
  log->released[key_of(warp, address)].join(releases ? clock.now : clock.at_fence);
  if (releases) clock.now.advance(clock.number);
}

void acquire_by(Warp& warp, uint64_t address, Order order) {
  RaceLog* const log = log_of(warp);
  if (!log) return;
  const std::lock_guard<std::mutex> lock(log->mutex);
  const auto found = log->released.find(key_of(warp, address));
  if (found == log->released.end()) return;
  const bool acquires = order == Order::acquire || order == Order::both;
  (acquires ? warp.clock.now : warp.clock.to_acquire).join(found->second);
}

void fence_clock(Warp& warp) {
  if (!log_of(warp)) return;
  WarpClock& clock = warp.clock;
  clock.now.join(clock.to_acquire);
  clock.at_fence = clock.now;
  clock.now.advance(clock.number);
}

void arrive_clock(Warp& warp, Clock& barrier) {
  if (!log_of(warp)) return;
  barrier.join(warp.clock.now);
  warp.clock.now.advance(warp.clock.number);
}

void leave_clock(Warp& warp, const Clock& barrier) {
  if (log_of(warp)) warp.clock.now.join(barrier);
}

}  // namespace ptx
