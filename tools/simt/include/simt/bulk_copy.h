// cp.async.bulk and cp.async.bulk.tensor: copies between global and shared memory that one thread issues.
//
// A load completes on an mbarrier (mbarrier.h). Stores belong to bulk groups of the thread that issued them.
// Eager mode copies at the issue. In late mode (settings.h) a load happens when a wait for its phase
// succeeds, and its destination is filled with 0xFF until then; a store writes global memory when its group
// is complete. A thread that exits before shared memory was read, a block that ends before a load was waited
// for, a store whose shared memory changes before the wait, and a load to an operand of a wgmma that was not
// waited for, are faults.
//
// Source: PTX ISA, "cp.async.bulk", "cp.async.bulk.tensor", "Tensors" (tiled mode, im2col mode).
#pragma once

#include <cuda.h>
#include <simt/barrier.h>

namespace simt {

// Addresses and `bytes` are multiples of 16.
void bulk_load(void* to_shared, const void* from, unsigned bytes, void* mbarrier,
               Place place = Place::current());
void bulk_store(void* to, const void* from_shared, unsigned bytes, Place place = Place::current());

// Copies the map's box from or to the position at[0 .. rank - 1], innermost dimension first, which may be
// outside of the tensor. Elements outside are loaded as zeros, and not stored. The address in shared memory
// is a multiple of 128.
void tma_load(void* to_shared, const CUtensorMap* map, const int* at, int rank, void* mbarrier,
              Place place = Place::current());
void tma_store(const CUtensorMap* map, const int* at, int rank, const void* from_shared,
               Place place = Place::current());

// Copies a column of the map, which is of im2col mode: the channels from at[0] on of consecutive pixels,
// numbered along W, H, D and N inside of the bounding box. at[1 .. rank - 2] is the filter's base, of
// which the first pixel is the offset[0 .. rank - 3] away; at[rank - 1] is the image. What is outside of the
// tensor is loaded as zeros. A base outside of the bounding box is a fault.
void tma_load_im2col(void* to_shared, const CUtensorMap* map, const int* at, const int* offset, int rank,
                     void* mbarrier, Place place = Place::current());

// Commits the calling thread's stores since the last commit as a group.
void bulk_commit();
// Waits until at most `groups` of the thread's newest groups are pending. With only_read, a group counts as
// done when shared memory has been read.
void bulk_wait(int groups, bool only_read);

}  // namespace simt
