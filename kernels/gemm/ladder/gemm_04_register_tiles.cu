// Idea:      each thread computes 8 x 8 results. For one step of k it reads 8 + 8 values from shared memory
//            for 64 multiply-adds, instead of 2 values for one.
// Builds on: gemm_03_shared_tiles.
// Limit now: instructions. Each load from global or shared memory moves one value: 16 loads for 64
//            multiply-adds. In addition, no thread computes while a k-tile is loaded.
// Counted:   0.039 global requests and 0.30 wavefronts of shared memory per multiply-add of a warp.
// Next:      load four values per instruction (gemm_05).
#include <rondo/kernels/gemm/ladder/fp32_rung.h>
#include <rondo/kernels/gemm/ladder/gemm_variants.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/core/vec.cuh>
#include <rondo/kernels/gemm/ladder/gemm_elements.cuh>

namespace rondo {
namespace {

constexpr int kPerThread = 8;                // side of the square that a thread computes
constexpr int kSide = 64;                    // side of the square that a block computes
constexpr int kDepth = 16;                   // depth of a k-tile
constexpr int kAcross = kSide / kPerThread;  // threads along each side
constexpr int kThreads = kAcross * kAcross;

struct Shared {
  float a[kSide][kDepth + 1];  // [row][k]; padded by one value, so that rows begin in different banks
  float b[kDepth][kSide];      // [k][column]
};

// A thread's rows and columns are kAcross apart, so that neighbouring threads read neighbouring values.
__global__ __launch_bounds__(kThreads) void gemm_04_register_tiles_kernel(const GemmArguments g,
                                                                          int64_t tiles_n) {
  auto& shared = shared_memory<Shared>();
  const int x = threadIdx.x % kAcross, y = threadIdx.x / kAcross;
  const int64_t i0 = blockIdx.x / tiles_n * kSide, j0 = blockIdx.x % tiles_n * kSide;
  float sums[kPerThread][kPerThread] = {};
  for (int64_t l0 = 0; l0 < g.k; l0 += kDepth) {
    for (int e = threadIdx.x; e < kSide * kDepth; e += kThreads) {
      const int row = e / kDepth, l = e % kDepth;
      shared.a[row][l] = i0 + row < g.m && l0 + l < g.k ? element_of_a(g, i0 + row, l0 + l) : 0;
    }
    for (int e = threadIdx.x; e < kSide * kDepth; e += kThreads) {
      const int l = e / kSide, column = e % kSide;
      shared.b[l][column] = l0 + l < g.k && j0 + column < g.n ? element_of_b(g, l0 + l, j0 + column) : 0;
    }
    __syncthreads();
    for (int l = 0; l < kDepth; ++l) {
      float row[kPerThread], column[kPerThread];
      RONDO_UNROLL
      for (int i = 0; i < kPerThread; ++i) row[i] = shared.a[y + i * kAcross][l];
      RONDO_UNROLL
      for (int j = 0; j < kPerThread; ++j) column[j] = shared.b[l][x + j * kAcross];
      RONDO_UNROLL
      for (int i = 0; i < kPerThread; ++i) {
        RONDO_UNROLL
        for (int j = 0; j < kPerThread; ++j) sums[i][j] = __fmaf_rn(row[i], column[j], sums[i][j]);
      }
    }
    __syncthreads();
  }
  RONDO_UNROLL
  for (int i = 0; i < kPerThread; ++i) {
    RONDO_UNROLL
    for (int j = 0; j < kPerThread; ++j) {
      const int64_t row = i0 + y + i * kAcross, column = j0 + x + j * kAcross;
      if (row < g.m && column < g.n) store_result(g, row, column, sums[i][j]);
    }
  }
}

}  // namespace

Status gemm_04_register_tiles(MatrixView<float> c, MatrixView<const float> a, MatrixView<const float> b,
                              const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  GemmArguments g;
  RONDO_RETURN_IF_ERROR(check_fp32_rung("gemm_04_register_tiles", c, a, b, options, workspace, &g));
  const int64_t tiles_n = ceil_div<int64_t>(g.n, kSide);
  const LaunchShape shape = {
      .grid_x = ceil_div<int64_t>(g.m, kSide) * tiles_n, .block_x = kThreads, .shared_bytes = sizeof(Shared)};
  return launch("gemm_04_register_tiles", shape, stream, gemm_04_register_tiles_kernel, g, tiles_n);
}

}  // namespace rondo
