// Where the elements of a product of a warp lie: the figures "fragment layout" of the shapes of mma (PTX ISA
// 9.7.14.5 and 9.7.14.6).
#pragma once

#include "warp.h"

namespace ptx {

inline constexpr int kMostRows = 16, kColumns = 8, kMostK = 256;

// Registers of a fragment in turn, with `per` elements in each.
struct Layout {
  int rows, k, per;
  int stored_k = k;  // of A: half of k in sparse products
  constexpr int a_registers() const { return rows * stored_k / kWarpSize / per; }
  constexpr int b_registers() const { return kColumns * k / kWarpSize / per; }
  constexpr int sums() const { return rows * kColumns / kWarpSize; }  // of a lane
  // Row of register r of A, and column of its first element: with 16 rows registers alternate between the
  // upper and the lower eight, then go on by 4 `per` columns.
  int a_row(int lane, int r) const { return lane / 4 + (rows == 16 ? (r & 1) * 8 : 0); }
  int a_column(int lane, int r) const { return (rows == 16 ? r >> 1 : r) * 4 * per + lane % 4 * per; }
  int b_row(int lane, int r) const { return r * 4 * per + lane % 4 * per; }
  int b_column(int lane) const { return lane / 4; }
};

// Sum r of a lane.
inline int d_row(int lane, int r) { return lane / 4 + (r >> 1) * 8; }
inline int d_column(int lane, int r) { return lane % 4 * 2 + (r & 1); }

}  // namespace ptx
