// Idea:      each thread computes one result, from one row of A and one column of B.
// Builds on: the definition.
// Limit now: uncoalesced loads. Neighbouring threads compute neighbouring *rows*, so a warp's 32 loads of A
//            (and 32 stores of C) access 32 different cache lines.
// Counted:   2.01 global requests per multiply-add of a warp; a load of A takes 32 sectors, one of B 1.
// Next:      assign neighbouring threads to neighbouring columns (gemm_02).
#include <rondo/kernels/gemm/ladder/fp32_rung.h>
#include <rondo/kernels/gemm/ladder/gemm_variants.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/vec.cuh>
#include <rondo/kernels/gemm/ladder/gemm_elements.cuh>

namespace rondo {
namespace {

constexpr int kThreads = 128;

__global__ void gemm_01_naive_kernel(const GemmArguments g) {
  const int64_t result = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (result >= g.m * g.n) return;
  const int64_t i = result % g.m, j = result / g.m;
  float sum = 0;
  for (int64_t l = 0; l < g.k; ++l) sum = __fmaf_rn(element_of_a(g, i, l), element_of_b(g, l, j), sum);
  store_result(g, i, j, sum);
}

}  // namespace

Status gemm_01_naive(MatrixView<float> c, MatrixView<const float> a, MatrixView<const float> b,
                     const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  GemmArguments g;
  RONDO_RETURN_IF_ERROR(check_fp32_rung("gemm_01_naive", c, a, b, options, workspace, &g));
  const LaunchShape shape = {.grid_x = ceil_div<int64_t>(g.m * g.n, kThreads), .block_x = kThreads};
  return launch("gemm_01_naive", shape, stream, gemm_01_naive_kernel, g);
}

}  // namespace rondo
