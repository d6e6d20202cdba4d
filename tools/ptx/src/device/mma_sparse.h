// The sparse A of mma.sp (PTX ISA 9.7.14.6) and of wgmma.mma_async.sp (9.7.15.6).
#pragma once

#include "mma_layout.h"
#include "types.h"

namespace ptx {

// What the indices in the metadata choose: `units` of `unit` adjacent elements out of `chunk` elements.
struct Sparsity {
  int chunk, units, unit;
  // Bits of a lane's metadata that are of one row: all, in turn of row lane / 4 and of the one 8 on; or the
  // lower half is of the former and the upper half of the latter.
  int row_bits;
};
// chunk 0: sparse products have no such type.
Sparsity sparsity_of(Type type);

// How many of the four lanes of a group have metadata. The selector is less than 4 divided by it.
int lanes_with_metadata(const Layout& layout, const Sparsity& sparsity);

// Spreads the stored_k elements of a row of A over k columns. `metadata`: of the 32 lanes. Faults if two
// elements that are not both zero have the same place.
void spread_row(const Layout& layout, const Sparsity& sparsity, const uint32_t* metadata, int selector,
                int row, float* a);

}  // namespace ptx
