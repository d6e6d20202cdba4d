// Idea:      neighbouring threads compute neighbouring columns. A warp's loads of B and stores of C are
//            contiguous, 128 bytes each. Its loads of A are one value, shared by all lanes.
// Builds on: gemm_01_naive; only the row and column index are exchanged.
// Limit now: cache bandwidth. Every multiply-add still loads two values: 8 bytes for 2 FLOP.
// Counted:   2.01 global requests per multiply-add of a warp; a load of A takes 1 sector, one of B 4.
// Next:      load each tile once per block (gemm_03).
#include <rondo/kernels/gemm/ladder/fp32_rung.h>
#include <rondo/kernels/gemm/ladder/gemm_variants.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/vec.cuh>
#include <rondo/kernels/gemm/ladder/gemm_elements.cuh>

namespace rondo {
namespace {

constexpr int kThreads = 128;

__global__ void gemm_02_coalesced_kernel(const GemmArguments g) {
  const int64_t result = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (result >= g.m * g.n) return;
  const int64_t i = result / g.n, j = result % g.n;
  float sum = 0;
  for (int64_t l = 0; l < g.k; ++l) sum = __fmaf_rn(element_of_a(g, i, l), element_of_b(g, l, j), sum);
  store_result(g, i, j, sum);
}

}  // namespace

Status gemm_02_coalesced(MatrixView<float> c, MatrixView<const float> a, MatrixView<const float> b,
                         const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  GemmArguments g;
  RONDO_RETURN_IF_ERROR(check_fp32_rung("gemm_02_coalesced", c, a, b, options, workspace, &g));
  const LaunchShape shape = {.grid_x = ceil_div<int64_t>(g.m * g.n, kThreads), .block_x = kThreads};
  return launch("gemm_02_coalesced", shape, stream, gemm_02_coalesced_kernel, g);
}

}  // namespace rondo
