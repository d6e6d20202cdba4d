// The access of a warp that `rondo banks` and `rondo sectors` show, and the rows of their drawings.
#pragma once

#include <rondo/tools/rondo/banks/arguments.h>
#include <simt/warp_access.h>

#include <array>
#include <cstdint>
#include <vector>

namespace rondo::program {

// All 32 threads are active. Throws a bad_argument Error if a thread's index is negative or too large, or its
// address is not a multiple of the width.
simt::WarpAccess access_of(const AccessArguments& arguments);

using Lanes = std::vector<int>;  // ascending

// A wavefront of an access to shared memory.
struct BankRow {
  int first_lane, last_lane;              // of the pass that the wavefront belongs to
  bool conflict;                          // not the first wavefront of its pass
  std::array<Lanes, simt::kBanks> lanes;  // that each bank serves: all of them access the same word
};
std::vector<BankRow> bank_rows(const simt::WarpAccess& access, bool store);

// The largest number of words that a pass accesses in one bank; 1: no conflict.
int conflict_degree(const std::vector<BankRow>& rows);

// A sector that an access to global memory moves, in cells of 4 bytes, or of the width if that is smaller.
struct SectorRow {
  uint64_t address;
  std::vector<Lanes> cells;  // the lanes that access each cell
};
std::vector<SectorRow> sector_rows(const simt::WarpAccess& access);  // by ascending address
int cell_bytes(const simt::WarpAccess& access);

// Bytes of distinct addresses: those that several lanes access count once.
int64_t bytes_requested(const simt::WarpAccess& access);

}  // namespace rondo::program
