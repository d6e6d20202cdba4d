// One kernel for each form of the wrappers of kernels/core/ptx/cluster.cuh; see cp_async.cu.
#include <rondo/kernels/core/ptx/cluster.cuh>

namespace ptx = rondo::ptx;

namespace {

__device__ unsigned char* shared_at(unsigned offset) {
  extern __shared__ __align__(128) unsigned char shared[];
  return shared + offset;
}
__device__ ptx::Mbarrier* barrier_at(unsigned offset) {
  return reinterpret_cast<ptx::Mbarrier*>(shared_at(offset));
}

}  // namespace

extern "C" {

__global__ void cluster_rank(unsigned* rank) { *rank = ptx::cluster_rank(); }
__global__ void cluster_size(unsigned* size) { *size = ptx::cluster_size(); }
__global__ void cluster_arrive() { ptx::cluster_arrive(); }
__global__ void cluster_wait() { ptx::cluster_wait(); }
__global__ void cluster_map(unsigned char* from, unsigned rank, unsigned char** to) {
  *to = ptx::cluster_map(from, rank);
}
__global__ void cluster_arrive_at(unsigned barrier, unsigned rank) {
  ptx::cluster_arrive_at(barrier_at(barrier), rank);
}
__global__ void cluster_arrive_at_relaxed(unsigned barrier, unsigned rank) {
  ptx::cluster_arrive_at_relaxed(barrier_at(barrier), rank);
}
__global__ void cluster_mbarrier_wait(unsigned barrier, unsigned parity) {
  ptx::cluster_mbarrier_wait(barrier_at(barrier), parity);
}
__global__ void bulk_load_multicast(unsigned to, const void* from, unsigned bytes, unsigned barrier,
                                    unsigned short ranks) {
  ptx::bulk_load_multicast(shared_at(to), from, bytes, barrier_at(barrier), ranks);
}
__global__ void tma_load_multicast_1(unsigned to, const CUtensorMap* map, int x, unsigned barrier,
                                     unsigned short ranks) {
  ptx::tma_load_multicast(shared_at(to), *map, {x}, barrier_at(barrier), ranks);
}
__global__ void tma_load_multicast_2(unsigned to, const CUtensorMap* map, int x, int y, unsigned barrier,
                                     unsigned short ranks) {
  ptx::tma_load_multicast(shared_at(to), *map, {x, y}, barrier_at(barrier), ranks);
}
__global__ void tma_load_multicast_3(unsigned to, const CUtensorMap* map, int x, int y, int z,
                                     unsigned barrier, unsigned short ranks) {
  ptx::tma_load_multicast(shared_at(to), *map, {x, y, z}, barrier_at(barrier), ranks);
}
__global__ void tma_load_multicast_4(unsigned to, const CUtensorMap* map, int x, int y, int z, int u,
                                     unsigned barrier, unsigned short ranks) {
  ptx::tma_load_multicast(shared_at(to), *map, {x, y, z, u}, barrier_at(barrier), ranks);
}
__global__ void tma_load_multicast_5(unsigned to, const CUtensorMap* map, int x, int y, int z, int u, int v,
                                     unsigned barrier, unsigned short ranks) {
  ptx::tma_load_multicast(shared_at(to), *map, {x, y, z, u, v}, barrier_at(barrier), ranks);
}

}  // extern "C"
