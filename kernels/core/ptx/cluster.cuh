// Clusters: blocks that run at the same time, and that reach each other's shared memory. A launch declares
// their size (LaunchShape::cluster_x). Needs sm_90. PTX has multicasts there, too, but slow ones: these
// wrappers compile them for sm_90a only.
//
//   cluster_rank()                   the rank of the calling block in its cluster; 0 without clusters.
//   cluster_size()                   the blocks of the cluster; 1 without clusters.
//   cluster_arrive()                 a barrier of all threads of the cluster that have not exited, in two
//   cluster_wait()                   parts. What was written before arriving is visible after waiting.
//   cluster_sync()                   both.
//   cluster_map(p, rank)             the address in the shared memory of block `rank` that corresponds to p.
//   cluster_arrive_at(barrier, rank)           mbarrier_arrive() at the barrier of block `rank` that
//                                              corresponds to `barrier`.
//   cluster_arrive_at_relaxed(barrier, rank)   the same, without ordering memory. It releases operands of
//                                              wgmma that has been waited for. The ordered arrive compiles to
//                                              a fence of the whole GPU.
//   cluster_mbarrier_wait(barrier, parity)     mbarrier_wait() for a phase in which threads of other blocks
//                                              arrive, and what they wrote before is visible.
//   bulk_load_multicast(to, from, bytes, barrier, ranks)   bulk_load() and tma_load() (bulk_copy.cuh) to
//   tma_load_multicast(to, map, at, barrier, ranks)        each block whose rank is a bit of `ranks`: to the
//                                              corresponding address, complete at the corresponding barrier.
//
// A block must not exit while others may still reach its shared memory: it passes a cluster_sync() before.
// Source: PTX ISA, "barrier.cluster", "mapa", "mbarrier.arrive", "cp.async.bulk", "cp.async.bulk.tensor".
#pragma once

#include <rondo/kernels/core/ptx/bulk_copy.cuh>

#ifdef __SIMT__
#include <simt/cluster.h>
#endif

namespace rondo::ptx {

__device__ __forceinline__ unsigned cluster_rank() {
#ifdef __SIMT__
  return simt::cluster_rank();
#else
  unsigned rank = 0;
  RONDO_SM90_ASM("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
#endif
}

__device__ __forceinline__ unsigned cluster_size() {
#ifdef __SIMT__
  return simt::cluster_size();
#else
  unsigned blocks = 1;
  RONDO_SM90_ASM("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  return blocks;
#endif
}

__device__ __forceinline__ void cluster_arrive([[maybe_unused]] Place place = Place::current()) {
  RONDO_SIMT_OR_SM90_ASM(simt::cluster_arrive(place), "barrier.cluster.arrive.release;" ::: "memory");
}

__device__ __forceinline__ void cluster_wait([[maybe_unused]] Place place = Place::current()) {
  RONDO_SIMT_OR_SM90_ASM(simt::cluster_wait(place), "barrier.cluster.wait.acquire;" ::: "memory");
}

__device__ __forceinline__ void cluster_sync(Place place = Place::current()) {
  cluster_arrive(place);
  cluster_wait(place);
}

template <class T>
__device__ __forceinline__ T* cluster_map(T* shared, unsigned rank,
                                          [[maybe_unused]] Place place = Place::current()) {
#ifdef __SIMT__
  return static_cast<T*>(simt::cluster_map(shared, rank, place));
#else
  T* there = nullptr;
  RONDO_SM90_ASM("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(shared), "r"(rank));
  return there;
#endif
}

__device__ __forceinline__ void cluster_arrive_at(Mbarrier* barrier, unsigned rank,
                                                  [[maybe_unused]] Place place = Place::current()) {
  RONDO_SIMT_OR_SM90_ASM(simt::cluster_arrive_at(barrier, rank, place),
                         "{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; "
                         "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];}" ::"r"(
                             detail::shared_address(barrier)),
                         "r"(rank)
                         : "memory");
}

__device__ __forceinline__ void cluster_arrive_at_relaxed(Mbarrier* barrier, unsigned rank,
                                                          [[maybe_unused]] Place place = Place::current()) {
  RONDO_SIMT_OR_SM90_ASM(simt::cluster_arrive_at_relaxed(barrier, rank, place),
                         "{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; "
                         "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [there];}" ::"r"(
                             detail::shared_address(barrier)),
                         "r"(rank)
                         : "memory");
}

__device__ __forceinline__ void cluster_mbarrier_wait(Mbarrier* barrier, unsigned parity,
                                                      [[maybe_unused]] Place place = Place::current()) {
#ifdef __SIMT__
  simt::mbarrier_wait(barrier, parity, place);
#else
  unsigned completed = 0;
  do {
    RONDO_SM90_ASM(
        "{.reg .pred completed; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 completed, [%1], "
        "%2; "
        "selp.u32 %0, 1, 0, completed;}"
        : "=r"(completed)
        : "r"(detail::shared_address(barrier)), "r"(parity)
        : "memory");
  } while (completed == 0);
#endif
}

__device__ __forceinline__ void bulk_load_multicast(void* to_shared, const void* from, unsigned bytes,
                                                    Mbarrier* barrier, uint16_t ranks,
                                                    [[maybe_unused]] Place place = Place::current()) {
#ifdef __SIMT__
  simt::bulk_load_multicast(to_shared, from, bytes, barrier, ranks, place);
#else
  const unsigned to = detail::shared_address(to_shared);
  RONDO_SM90A_ASM(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1], %2, [%3], %4;" ::"r"(to),
      "l"(from), "r"(bytes), "r"(detail::shared_address(barrier)), "h"(ranks)
      : "memory");
#endif
}

#define RONDO_TENSOR_MULTICAST(rank, coordinates, ...)                                                   \
  RONDO_SM90A_ASM("cp.async.bulk.tensor." rank                                                           \
                  "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], " \
                  "[%1, {" coordinates "}], [%2], %3;" ::"r"(to),                                        \
                  "l"(&map), "r"(done), "h"(ranks), __VA_ARGS__                                          \
                  : "memory")

template <int Rank>
__device__ __forceinline__ void tma_load_multicast(void* to_shared, const CUtensorMap& map,
                                                   const int (&at)[Rank], Mbarrier* barrier, uint16_t ranks,
                                                   [[maybe_unused]] Place place = Place::current()) {
  static_assert(Rank >= 1 && Rank <= 5);
#ifdef __SIMT__
  simt::tma_load_multicast(to_shared, &map, at, Rank, barrier, ranks, place);
#else
  const unsigned to = detail::shared_address(to_shared);
  const unsigned done = detail::shared_address(barrier);
  if constexpr (Rank == 1)
    RONDO_TENSOR_MULTICAST("1", "%4", "r"(at[0]));
  else if constexpr (Rank == 2)
    RONDO_TENSOR_MULTICAST("2", "%4, %5", "r"(at[0]), "r"(at[1]));
  else if constexpr (Rank == 3)
    RONDO_TENSOR_MULTICAST("3", "%4, %5, %6", "r"(at[0]), "r"(at[1]), "r"(at[2]));
  else if constexpr (Rank == 4)
    RONDO_TENSOR_MULTICAST("4", "%4, %5, %6, %7", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]));
  else
    RONDO_TENSOR_MULTICAST("5", "%4, %5, %6, %7, %8", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]),
                           "r"(at[4]));
#endif
}
#undef RONDO_TENSOR_MULTICAST

}  // namespace rondo::ptx
