// Idea:      a block computes a square tile of results. Its threads together load a square of A and one of B
//            into shared memory. Each loaded value is used by a whole row or column of threads.
// Builds on: gemm_02_coalesced.
// Limit now: shared memory. Every multiply-add reads two values from it. A thread has two barriers for every
//            16 multiply-adds.
// Counted:   0.13 global requests and 2.1 wavefronts of shared memory per multiply-add of a warp.
// Next:      let each thread compute many results from values in registers (gemm_04).
#include <rondo/kernels/gemm/ladder/fp32_rung.h>
#include <rondo/kernels/gemm/ladder/gemm_variants.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/core/vec.cuh>
#include <rondo/kernels/gemm/ladder/gemm_elements.cuh>

namespace rondo {
namespace {

constexpr int kSide = 16;

struct Shared {
  float a[kSide][kSide];  // [row][k]
  float b[kSide][kSide];  // [k][column]
};

__global__ __launch_bounds__(kSide* kSide) void gemm_03_shared_tiles_kernel(const GemmArguments g,
                                                                            int64_t tiles_n) {
  auto& shared = shared_memory<Shared>();
  const int x = threadIdx.x, y = threadIdx.y;
  const int64_t i = blockIdx.x / tiles_n * kSide + y, j = blockIdx.x % tiles_n * kSide + x;
  float sum = 0;
  for (int64_t l0 = 0; l0 < g.k; l0 += kSide) {
    shared.a[y][x] = i < g.m && l0 + x < g.k ? element_of_a(g, i, l0 + x) : 0;
    shared.b[y][x] = l0 + y < g.k && j < g.n ? element_of_b(g, l0 + y, j) : 0;
    __syncthreads();  // wait until the tiles are complete
    for (int l = 0; l < kSide; ++l) sum = __fmaf_rn(shared.a[y][l], shared.b[l][x], sum);
    __syncthreads();  // wait until all threads have finished reading
  }
  if (i < g.m && j < g.n) store_result(g, i, j, sum);
}

}  // namespace

Status gemm_03_shared_tiles(MatrixView<float> c, MatrixView<const float> a, MatrixView<const float> b,
                            const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  GemmArguments g;
  RONDO_RETURN_IF_ERROR(check_fp32_rung("gemm_03_shared_tiles", c, a, b, options, workspace, &g));
  const int64_t tiles_n = ceil_div<int64_t>(g.n, kSide);
  const LaunchShape shape = {.grid_x = ceil_div<int64_t>(g.m, kSide) * tiles_n,
                             .block_x = kSide,
                             .block_y = kSide,
                             .shared_bytes = sizeof(Shared)};
  return launch("gemm_03_shared_tiles", shape, stream, gemm_03_shared_tiles_kernel, g, tiles_n);
}

}  // namespace rondo
