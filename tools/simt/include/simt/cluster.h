// Clusters: blocks that run at the same time, and that reach each other's shared memory.
//
// A launch declares the size of its clusters (cudaLaunchAttributeClusterDimension). A block of any other
// launch is a cluster of its own. Ranks go along x first, then y, then z.
//
// To name a block that is not in the cluster, or one that has ended, is a fault. A block ends when all its
// threads have exited; its shared memory is gone then.
//
// Source: PTX ISA, "Cluster", "barrier.cluster", "mapa", "mbarrier.arrive", "cp.async.bulk.tensor".
#pragma once

#include <cuda.h>
#include <simt/barrier.h>

#include <cstdint>

namespace simt {

unsigned cluster_rank();  // of the running block
unsigned cluster_size();  // in blocks

// barrier.cluster: each thread of the cluster that has not exited arrives, and then waits. What was written
// before the arrivals is visible after the waits.
void cluster_arrive(Place place = Place::current());
void cluster_wait(Place place = Place::current());

// The address in the shared memory of block `rank` that corresponds to `shared` in that of the running block.
void* cluster_map(const void* shared, unsigned rank, Place place = Place::current());

// mbarrier_arrive() (mbarrier.h) at the barrier of block `rank` that corresponds to `barrier`.
void cluster_arrive_at(void* barrier, unsigned rank, Place place = Place::current());
// The same, without ordering memory, except for products of the thread's warpgroup that it has waited for.
// Only the race detector distinguishes the two.
void cluster_arrive_at_relaxed(void* barrier, unsigned rank, Place place = Place::current());

// bulk_load() and tma_load() (bulk_copy.h) to each block whose rank is a bit of `ranks`: to the
// corresponding address of its shared memory, complete at its corresponding mbarrier.
void bulk_load_multicast(void* to_shared, const void* from, unsigned bytes, void* mbarrier, uint16_t ranks,
                         Place place = Place::current());
void tma_load_multicast(void* to_shared, const CUtensorMap* map, const int* at, int rank, void* mbarrier,
                        uint16_t ranks, Place place = Place::current());

}  // namespace simt
