// wgmma: products of matrices by a warpgroup, four warps of which the first one's number is a multiple of
// four. d (64 x N, in registers) = a (64 x K) * b (K x N) [+ d], asynchronously; b and optionally a in shared
// memory.
//
// All 128 threads meet in each product, and in each wait for one that is in flight. Eager mode computes at
// the issue. Late mode (settings.h) computes at the wait for the group; the accumulators are NaN until then.
//
// Faults: a thread that exits before it has waited for its products; operands in shared memory that change,
// or that a bulk copy overwrites, before a thread of each of the four warps has returned from the wait, which
// covers only its own warp; an operand that a tensor copy wrote with another swizzle than that of the
// descriptor; in late mode one that a thread wrote without a fence.proxy.async after it (mbarrier.h). A
// product on registers, of d or a, that were changed without a wgmma.fence after it. Registers of a that
// change before the wait, or whose variable is out of scope then. Of an array that no earlier product of the
// thread used for a it is not known whether it was written after the fence.
//
// Numerics: those of simt/tensor_core.h. Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".
#pragma once

#include <simt/barrier.h>
#include <simt/tensor_core.h>

#include <cstdint>

namespace simt {

struct WarpgroupProduct {
  TensorFormat format;
  int n;              // 8 to 256, a multiple of 8
  float* d;           // [n / 2]
  const uint32_t* a;  // [4]; null: in shared memory
  uint64_t a_descriptor, b_descriptor;
  bool add;  // scale-d: d += a * b, otherwise d = a * b
  bool negate_a, negate_b;
  bool transpose_a, transpose_b;  // the matrix is contiguous along M or N; 16-bit formats only
};
void warpgroup_multiply(const WarpgroupProduct& product, Place place = Place::current());

void warpgroup_fence();
void warpgroup_commit();
void warpgroup_wait(int groups, Place place = Place::current());

// The offset of `address` in the block's shared memory, for descriptors: a shared-memory address of a GPU.
unsigned shared_address(const void* address);

}  // namespace simt
