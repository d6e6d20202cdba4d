// Idea:      wgmma: a warpgroup (4 warps) multiplies operands that it reads from shared memory. One thread
//            issues copies of whole, swizzled k-tiles by the tensor memory accelerator (TMA); an mbarrier
//            counts their bytes.
// Builds on: gemm_tc_04_pipelined: 3 k-tiles in shared memory. tf32 is rounded by the copy.
// Limit now: waiting. After each k-tile the 4 warps wait for their products and then for each other, before
//            one of their threads refills the stage. A second block of the multiprocessor fills some of the
//            gaps.
// Next:      gemm_tc_06_warp_specialized: one elected thread only loads, the other warps only multiply.
//
// Needs compute capability 9.0, operands that tensor maps can describe, and for tf32 K-major ones
// (gemm_plan.h). The rungs before take the others.
#include <rondo/kernels/gemm/gemm_plan.h>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rung.cuh>
#include <rondo/kernels/gemm/wgmma/wgmma_tile.cuh>

namespace rondo {
namespace {

template <class T>
using TileOf = WgmmaTile<T, 128, 128, 1, 3>;

template <class T>
struct Parameters {
  CUtensorMap a, b;
  GemmArgumentsOf<T> gemm;
  int64_t tiles_n;
};

template <class T, Order OrderA, Order OrderB>
__global__ __launch_bounds__(kWarpgroup,
                             2) void gemm_tc_05_wgmma_kernel(const __grid_constant__ Parameters<T> p) {
  if constexpr (!kHasSm90a) return __trap();
  using Tile = TileOf<T>;
  auto& shared = shared_memory<WgmmaShared<Tile>>();
  const GemmArgumentsOf<T>& g = p.gemm;
  const int64_t m0 = blockIdx.x / p.tiles_n * Tile::kM, n0 = blockIdx.x % p.tiles_n * Tile::kN;
  const bool loads = threadIdx.x == 0;
  const auto load = [&](int stage, int64_t k) {
    if (k < g.k) load_stage<Tile, OrderA, OrderB>(shared, stage, p.a, p.b, m0, n0, k);
  };
  if (loads) {
    RONDO_UNROLL
    for (int stage = 0; stage < Tile::kStages; ++stage) ptx::mbarrier_init(&shared.full[stage], 1);
    ptx::mbarrier_init_fence();
  }
  __syncthreads();
  if (loads) {
    RONDO_UNROLL
    for (int stage = 0; stage < Tile::kStages; ++stage) load(stage, stage * Tile::kK);
  }

  WgmmaAccumulators<Tile> acc;
  set_zero(acc);
  PipelineState<Tile::kStages> state;
  for (int64_t k = 0; k < g.k; k += Tile::kK) {
    ptx::mbarrier_wait(&shared.full[state.stage], state.parity);
    multiply_k_tile<Tile, OrderA, OrderB>(acc, shared.a[state.stage], shared.b[state.stage], 0);
    ptx::wgmma_wait<0>();
    // wgmma_wait covers only the calling warp; all four must be done before the stage is refilled.
    __syncthreads();
    if (loads) load(state.stage, k + Tile::kStages * Tile::kK);
    state.advance();
  }
  fence_accumulators(acc);

  visit_results(acc, 0, [&](int row, int column, const Vec<2>& values) {
    RONDO_UNROLL
    for (int j = 0; j < 2; ++j) store_result_inside(g, m0 + row, n0 + column + j, values[j]);
  });
}

}  // namespace

template <class T>
Status gemm_tc_05_wgmma(MatrixView<T> c, MatrixView<const T> a, MatrixView<const T> b,
                        const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  constexpr const char* kName = "gemm_tc_05_wgmma";
  using Tile = TileOf<T>;
  Parameters<T> p = {};
  GemmArgumentsOf<T>& g = p.gemm;
  RONDO_RETURN_IF_ERROR(check_rung(kName, c, a, b, options, workspace, &g));
  RONDO_RETURN_IF_ERROR(check_wgmma(kName));
  const GemmProblem problem = problem_of(g);
  RONDO_RETURN_IF_ERROR(check_wgmma_operands(kName, problem));
  if (g.m > 0 && g.n > 0 && g.k > 0) {
    RONDO_RETURN_IF_ERROR(make_operand_map<Tile>(&p.a, problem.a.order, g.a, g.m, g.k, g.a_stride, Tile::kM));
    RONDO_RETURN_IF_ERROR(make_operand_map<Tile>(&p.b, problem.b.order, g.b, g.n, g.k, g.b_stride, Tile::kN));
  }
  p.tiles_n = ceil_div<int64_t>(g.n, Tile::kN);
  const LaunchShape shape = {.grid_x = ceil_div<int64_t>(g.m, Tile::kM) * p.tiles_n,
                             .block_x = kWarpgroup,
                             .shared_bytes = sizeof(WgmmaShared<Tile>)};
  return with_wgmma_orders<T>(problem.a.order, problem.b.order, [&]<Order OrderA, Order OrderB>() {
    return launch(kName, shape, stream, gemm_tc_05_wgmma_kernel<T, OrderA, OrderB>, p);
  });
}
RONDO_INSTANTIATE_RUNG(gemm_tc_05_wgmma)

}  // namespace rondo
