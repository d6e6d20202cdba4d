// What a build that observes kernels is told about bulk copies and the products of warpgroups.
#pragma once

#include <cstddef>

namespace simt::detail {

// A product of each of the four warps of warpgroup `number`.
void observe_warpgroup_product(unsigned number, bool tf32, int multiply_adds);

// Part `index` of a bulk copy to shared memory, of up to 16 bytes. `place`: the return address of the copy's
// instruction; `from` is null for what lies outside of a tensor. Lane index % 32 is said to copy it.
void observe_bulk_load(const void* place, const void* mbarrier, const void* to, const void* from,
                       size_t bytes, unsigned index);

// 16 bytes of an operand of a product of a warpgroup, in shared memory.
void observe_operand_read(const void* place, unsigned warpgroup, const void* from);
// `bytes` of accumulators of a wgmma, which are registers of a thread.
void observe_accumulators(const void* place, unsigned thread, const float* registers, size_t bytes);

}  // namespace simt::detail
