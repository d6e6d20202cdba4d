// One kernel for each form of the wrappers of kernels/core/ptx/bulk_copy.cuh; see cp_async.cu.
#include <rondo/kernels/core/ptx/bulk_copy.cuh>

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

__global__ void bulk_load(unsigned to, const void* from, unsigned bytes, unsigned barrier) {
  ptx::bulk_load(shared_at(to), from, bytes, barrier_at(barrier));
}
__global__ void bulk_store(void* to, unsigned from, unsigned bytes) {
  ptx::bulk_store(to, shared_at(from), bytes);
}
__global__ void bulk_commit() { ptx::bulk_commit(); }
__global__ void bulk_wait_0() { ptx::bulk_wait<0>(); }
__global__ void bulk_wait_3() { ptx::bulk_wait<3>(); }
__global__ void bulk_wait_read_1() { ptx::bulk_wait_read<1>(); }
__global__ void prefetch(const CUtensorMap* map) { ptx::prefetch(*map); }

__global__ void tma_load_1(unsigned to, const CUtensorMap* map, int x, unsigned barrier) {
  ptx::tma_load(shared_at(to), *map, {x}, barrier_at(barrier));
}
__global__ void tma_load_2(unsigned to, const CUtensorMap* map, int x, int y, unsigned barrier) {
  ptx::tma_load(shared_at(to), *map, {x, y}, barrier_at(barrier));
}
__global__ void tma_load_3(unsigned to, const CUtensorMap* map, int x, int y, int z, unsigned barrier) {
  ptx::tma_load(shared_at(to), *map, {x, y, z}, barrier_at(barrier));
}
__global__ void tma_load_4(unsigned to, const CUtensorMap* map, int x, int y, int z, int u,
                           unsigned barrier) {
  ptx::tma_load(shared_at(to), *map, {x, y, z, u}, barrier_at(barrier));
}
__global__ void tma_load_5(unsigned to, const CUtensorMap* map, int x, int y, int z, int u, int v,
                           unsigned barrier) {
  ptx::tma_load(shared_at(to), *map, {x, y, z, u, v}, barrier_at(barrier));
}

__global__ void tma_load_im2col_3(unsigned to, const CUtensorMap* map, int c, int w, int n, int s,
                                  unsigned barrier) {
  ptx::tma_load_im2col(shared_at(to), *map, {c, w, n}, {s}, barrier_at(barrier));
}
__global__ void tma_load_im2col_4(unsigned to, const CUtensorMap* map, int c, int w, int h, int n, int s,
                                  int r, unsigned barrier) {
  ptx::tma_load_im2col(shared_at(to), *map, {c, w, h, n}, {s, r}, barrier_at(barrier));
}
__global__ void tma_load_im2col_5(unsigned to, const CUtensorMap* map, int c, int w, int h, int d, int n,
                                  int s, int r, int t, unsigned barrier) {
  ptx::tma_load_im2col(shared_at(to), *map, {c, w, h, d, n}, {s, r, t}, barrier_at(barrier));
}

__global__ void tma_store_1(const CUtensorMap* map, int x, unsigned from) {
  ptx::tma_store(*map, {x}, shared_at(from));
}
__global__ void tma_store_2(const CUtensorMap* map, int x, int y, unsigned from) {
  ptx::tma_store(*map, {x, y}, shared_at(from));
}
__global__ void tma_store_3(const CUtensorMap* map, int x, int y, int z, unsigned from) {
  ptx::tma_store(*map, {x, y, z}, shared_at(from));
}
__global__ void tma_store_4(const CUtensorMap* map, int x, int y, int z, int u, unsigned from) {
  ptx::tma_store(*map, {x, y, z, u}, shared_at(from));
}
__global__ void tma_store_5(const CUtensorMap* map, int x, int y, int z, int u, int v, unsigned from) {
  ptx::tma_store(*map, {x, y, z, u, v}, shared_at(from));
}
}
