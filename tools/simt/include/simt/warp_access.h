// The cost of one memory instruction of a warp: the 32-byte sectors of an access to global memory, and the
// wavefronts of an access to shared memory. Pure functions of the lanes' addresses, without a device.
// docs/memory-accesses.md names the source of every rule.
#pragma once

#include <array>
#include <cstdint>

namespace simt {

// A memory instruction of a warp: each lane i of the mask `active` accesses `bytes` bytes at address[i].
// `bytes` is 1, 2, 4, 8 or 16, and every address is a multiple of it; a GPU faults at any other address.
// Addresses of global memory are addresses. Addresses of shared memory are offsets in the block's shared
// memory, which begins at bank 0.
struct WarpAccess {
  uint32_t active = 0;
  int bytes = 4;
  std::array<uint64_t, 32> address = {};
};

// Global memory: an access of a warp moves whole sectors, the aligned 32-byte parts of a cache line.
inline constexpr int kSectorBytes = 32;

int global_sectors(const WarpAccess& access);  // the distinct sectors touched

// The sectors that the bytes asked for would fill: the distinct bytes / 32, rounded up.
int least_global_sectors(const WarpAccess& access);

// Shared memory: 32 banks of 4 bytes. Word w, the 4 bytes at offset 4 w, is in bank w % 32. In a wavefront
// (one cycle), each bank moves one word.
inline constexpr int kBanks = 32;
inline constexpr int kBankBytes = 4;

// The hardware splits an access into passes, by lanes and before it looks at banks:
//
//   width        passes of a load or store
//   1, 2, 4      one: all 32 lanes
//   8            two: lanes 0-15, 16-31
//   16           four: lanes 0-7, 8-15, 16-23, 24-31
//
// A pass without an active lane takes no time. Two passes of a load become one (8 bytes: both halves;
// 16 bytes: the two quarters of each half, but never the two halves) if the whole warp meets one of two
// conditions: each active lane T has the address of lane T^1 or lane T^1 is inactive; or the same with T^2.
// Stores are not merged.
struct SharedPasses {
  int count = 0;                       // of the passes with an active lane
  std::array<uint32_t, 4> lanes = {};  // their active lanes
};
SharedPasses passes_of_shared_load(const WarpAccess& access);
SharedPasses passes_of_shared_store(const WarpAccess& access);

// A pass takes as many wavefronts as the bank with most words: the largest number of distinct words that its
// lanes access in one bank. Lanes that read one word get it together; of the lanes that write one word, one
// wins. Neither is a conflict.
struct SharedCost {
  int wavefronts = 0;  // sum over the passes
  int least = 0;       // the same access without bank conflicts: one for each pass

  int conflicts() const { return wavefronts - least; }
};
SharedCost shared_load(const WarpAccess& access);
SharedCost shared_store(const WarpAccess& access);

}  // namespace simt
