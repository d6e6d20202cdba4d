// cp.async.bulk: copies between global and shared memory that one thread issues. Needs sm_90.
//
//   bulk_load(to_shared, from, bytes, barrier)
//       Copies `bytes` bytes to shared memory and completes as many in the current phase of an mbarrier.
//   tma_load(to_shared, map, at, barrier)
//       Copies the box of a tensor map (tensor_map.h) at position `at`, innermost dimension first. Elements
//       outside the tensor become 0. All bytes of the box count for the mbarrier.
//   tma_load_im2col(to_shared, map, at, offset, barrier)
//       Copies a column of a map in im2col mode: channels from at[0] on, of consecutive pixels from the
//       filter's base on, in image at[rank - 1]. Each pixel is moved by `offset`, the position of a tap,
//       innermost dimension first.
//   bulk_store(to, from_shared, bytes), tma_store(map, at, from_shared)
//       Copy from shared memory, in the thread's current group. tma_store does not store elements outside the
//       tensor.
//   bulk_commit()
//       Closes the thread's current group.
//   bulk_wait_read<N>()
//       Waits until all but the newest N groups have read shared memory: it may be overwritten, or the thread
//       may exit.
//   bulk_wait<N>()
//       Waits until all but the newest N groups have written global memory.
//   prefetch(map)
//       Loads the map into the cache.
//
// Addresses and sizes are multiples of 16, those of boxes in shared memory multiples of 128. With a swizzle,
// a box begins at a multiple of its period if the reader computes the swizzle from offsets in the box: 256,
// 512 or 1024 bytes. What threads wrote to shared memory is stored only after an async_proxy_fence() of each
// writing thread and a barrier (mbarrier.cuh).
#pragma once

#include <cuda.h>

#include <rondo/kernels/core/hopper.cuh>
#include <rondo/kernels/core/ptx/mbarrier.cuh>

#ifdef __SIMT__
#include <simt/bulk_copy.h>
#endif

namespace rondo::ptx {

__device__ __forceinline__ void bulk_load(void* to_shared, const void* from, unsigned bytes,
                                          Mbarrier* barrier,
                                          [[maybe_unused]] Place place = Place::current()) {
  RONDO_SIMT_OR_SM90_ASM(
      simt::bulk_load(to_shared, from, bytes, barrier, place),
      "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          detail::shared_address(to_shared)),
      "l"(from), "r"(bytes), "r"(detail::shared_address(barrier))
      : "memory");
}

__device__ __forceinline__ void bulk_store(void* to, const void* from_shared, unsigned bytes,
                                           [[maybe_unused]] Place place = Place::current()) {
  RONDO_SIMT_OR_SM90_ASM(simt::bulk_store(to, from_shared, bytes, place),
                         "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
                         "r"(detail::shared_address(from_shared)), "r"(bytes)
                         : "memory");
}

__device__ __forceinline__ void bulk_commit() {
  RONDO_SIMT_OR_SM90_ASM(simt::bulk_commit(), "cp.async.bulk.commit_group;" ::: "memory");
}

template <int Groups>
__device__ __forceinline__ void bulk_wait_read() {
  RONDO_SIMT_OR_SM90_ASM(simt::bulk_wait(Groups, true), "cp.async.bulk.wait_group.read %0;" ::"n"(Groups)
                         : "memory");
}

template <int Groups>
__device__ __forceinline__ void bulk_wait() {
  RONDO_SIMT_OR_SM90_ASM(simt::bulk_wait(Groups, false), "cp.async.bulk.wait_group %0;" ::"n"(Groups)
                         : "memory");
}

__device__ __forceinline__ void prefetch(const CUtensorMap& map) {
  RONDO_SIMT_OR_SM90_ASM(static_cast<void>(map), "prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

#define RONDO_TENSOR_LOAD(rank, coordinates, ...)                                                  \
  RONDO_SM90_ASM("cp.async.bulk.tensor." rank                                                      \
                 "d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" coordinates \
                 "}], [%2];" ::"r"(to),                                                            \
                 "l"(&map), "r"(done), __VA_ARGS__                                                 \
                 : "memory")

template <int Rank>
__device__ __forceinline__ void tma_load(void* to_shared, const CUtensorMap& map, const int (&at)[Rank],
                                         Mbarrier* barrier, [[maybe_unused]] Place place = Place::current()) {
  static_assert(Rank >= 1 && Rank <= 5);
#ifdef __SIMT__
  simt::tma_load(to_shared, &map, at, Rank, barrier, place);
#else
  const unsigned to = detail::shared_address(to_shared);
  const unsigned done = detail::shared_address(barrier);
  if constexpr (Rank == 1)
    RONDO_TENSOR_LOAD("1", "%3", "r"(at[0]));
  else if constexpr (Rank == 2)
    RONDO_TENSOR_LOAD("2", "%3, %4", "r"(at[0]), "r"(at[1]));
  else if constexpr (Rank == 3)
    RONDO_TENSOR_LOAD("3", "%3, %4, %5", "r"(at[0]), "r"(at[1]), "r"(at[2]));
  else if constexpr (Rank == 4)
    RONDO_TENSOR_LOAD("4", "%3, %4, %5, %6", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]));
  else
    RONDO_TENSOR_LOAD("5", "%3, %4, %5, %6, %7", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]));
#endif
}
#undef RONDO_TENSOR_LOAD

#define RONDO_IM2COL_LOAD(rank, coordinates, offsets, ...)                                           \
  RONDO_SM90_ASM("cp.async.bulk.tensor." rank                                                        \
                 "d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {" coordinates \
                 "}], [%2], {" offsets "};" ::"r"(to),                                               \
                 "l"(&map), "r"(done), __VA_ARGS__                                                   \
                 : "memory")

// Offsets are at most 65535 for rank 3, 255 for rank 4, and 31 for rank 5.
template <int Rank, int Spatial>
__device__ __forceinline__ void tma_load_im2col(void* to_shared, const CUtensorMap& map,
                                                const int (&at)[Rank], const int (&offset)[Spatial],
                                                Mbarrier* barrier,
                                                [[maybe_unused]] Place place = Place::current()) {
  static_assert(Rank >= 3 && Rank <= 5 && Spatial == Rank - 2);
#ifdef __SIMT__
  simt::tma_load_im2col(to_shared, &map, at, offset, Rank, barrier, place);
#else
  const unsigned to = detail::shared_address(to_shared);
  const unsigned done = detail::shared_address(barrier);
  const auto by = [&](int d) { return static_cast<unsigned short>(offset[d]); };
  if constexpr (Rank == 3)
    RONDO_IM2COL_LOAD("3", "%3, %4, %5", "%6", "r"(at[0]), "r"(at[1]), "r"(at[2]), "h"(by(0)));
  else if constexpr (Rank == 4)
    RONDO_IM2COL_LOAD("4", "%3, %4, %5, %6", "%7, %8", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]),
                      "h"(by(0)), "h"(by(1)));
  else
    RONDO_IM2COL_LOAD("5", "%3, %4, %5, %6, %7", "%8, %9, %10", "r"(at[0]), "r"(at[1]), "r"(at[2]),
                      "r"(at[3]), "r"(at[4]), "h"(by(0)), "h"(by(1)), "h"(by(2)));
#endif
}
#undef RONDO_IM2COL_LOAD

#define RONDO_TENSOR_STORE(rank, coordinates, ...)                                                      \
  RONDO_SM90_ASM("cp.async.bulk.tensor." rank "d.global.shared::cta.tile.bulk_group [%0, {" coordinates \
                 "}], "                                                                                 \
                 "[%1];" ::"l"(&map),                                                                   \
                 "r"(from), __VA_ARGS__                                                                 \
                 : "memory")

template <int Rank>
__device__ __forceinline__ void tma_store(const CUtensorMap& map, const int (&at)[Rank],
                                          const void* from_shared,
                                          [[maybe_unused]] Place place = Place::current()) {
  static_assert(Rank >= 1 && Rank <= 5);
#ifdef __SIMT__
  simt::tma_store(&map, at, Rank, from_shared, place);
#else
  const unsigned from = detail::shared_address(from_shared);
  if constexpr (Rank == 1)
    RONDO_TENSOR_STORE("1", "%2", "r"(at[0]));
  else if constexpr (Rank == 2)
    RONDO_TENSOR_STORE("2", "%2, %3", "r"(at[0]), "r"(at[1]));
  else if constexpr (Rank == 3)
    RONDO_TENSOR_STORE("3", "%2, %3, %4", "r"(at[0]), "r"(at[1]), "r"(at[2]));
  else if constexpr (Rank == 4)
    RONDO_TENSOR_STORE("4", "%2, %3, %4, %5", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]));
  else
    RONDO_TENSOR_STORE("5", "%2, %3, %4, %5, %6", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]));
#endif
}
#undef RONDO_TENSOR_STORE

}  // namespace rondo::ptx
