// For kernels whose warps have different roles. Source: PTX ISA, "elect.sync", "setmaxnreg".
//
//   elect_one(mask)             true in one of the lanes of `mask`, which all call it. Needs sm_90. Which
//                               lane is not defined; the executor elects the lowest.
//   warpgroup_reg_dealloc<N>()  lowers, or
//   warpgroup_reg_alloc<N>()    raises the registers of each thread of the warpgroup to N, a multiple of 8
//                               from 24 to 256. All warps of the warpgroup call it. Needs sm_90a. The
//                               executor does nothing; the tiles assert that the registers of all their
//                               warpgroups are at most 65536. The names are those of CUTLASS.
#pragma once

#include <rondo/kernels/core/hopper.cuh>

#ifdef __SIMT__
#include <simt/warp.h>

#include <bit>
#endif

namespace rondo::ptx {

__device__ __forceinline__ bool elect_one(unsigned mask = 0xFFFFFFFFu,
                                          [[maybe_unused]] Place place = Place::current()) {
#ifdef __SIMT__
  return simt::lane_id() == std::countr_zero(__ballot_sync(mask, 1, place));
#else
  unsigned elected = 0;
  RONDO_SM90_ASM("{.reg .pred elected; elect.sync _|elected, %1; selp.u32 %0, 1, 0, elected;}"
                 : "=r"(elected)
                 : "r"(mask)
                 : "memory");
  return elected != 0;
#endif
}

template <int Registers>
__device__ __forceinline__ void warpgroup_reg_dealloc() {
  static_assert(Registers >= 24 && Registers <= 256 && Registers % 8 == 0);
#ifndef __SIMT__
  RONDO_SM90A_ASM("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
#endif
}

template <int Registers>
__device__ __forceinline__ void warpgroup_reg_alloc() {
  static_assert(Registers >= 24 && Registers <= 256 && Registers % 8 == 0);
#ifndef __SIMT__
  RONDO_SM90A_ASM("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
#endif
}

}  // namespace rondo::ptx
