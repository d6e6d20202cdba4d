// Idea:      warp specialization. One elected thread of the first warpgroup, the producer, only loads
//            k-tiles; two consumer warpgroups only multiply, 64 x 256 results each. A ring of 4 stages is
//            between them, with two mbarriers for each: `full` counts the bytes of a k-tile, `empty` the
//            warps that are done with it. So no barrier stops all warps, and loads and products overlap by as
//            many k-tiles as there are stages. setmaxnreg moves the registers of the producer warpgroup to
//            the consumers, for 128 sums each.
// Builds on: gemm_tc_05_wgmma. The roles are in wgmma/warp_specialized.cuh.
// Limit now: the ends of the blocks. A multiprocessor has one block, whose tensor cores are idle while it
//            stores its results, and while the next one loads its first k-tiles.
// Next:      gemm_tc_07_persistent: a block that computes many tiles, and loads while it stores.
#include <rondo/kernels/gemm/tensor_ladder/tensor_rung.cuh>
#include <rondo/kernels/gemm/wgmma/warp_specialized.cuh>

namespace rondo {
namespace {

template <class T>
using TileOf = WarpSpecializedTile<T, 128, 256, 2, 4>;

template <class T, Order OrderA, Order OrderB>
__global__ __launch_bounds__(TileOf<T>::kThreads, 1) void gemm_tc_06_warp_specialized_kernel(
    const __grid_constant__ WarpSpecializedParameters<T> p) {
  if constexpr (!kHasSm90a) return __trap();
  using Tile = TileOf<T>;
  auto& shared = shared_memory<WarpSpecializedShared<Tile>>();
  init_ring(shared);
  const TileWork work = tile_work<Tile>(p, static_cast<int>(blockIdx.x / p.product.tiles_n),
                                        static_cast<int>(blockIdx.x % p.product.tiles_n), 0);
  using State = PipelineState<Tile::kStages>;
  const int warpgroup = static_cast<int>(threadIdx.x) / kWarpgroup;
  if (warpgroup == 0) {
    ptx::warpgroup_reg_dealloc<Tile::kProducerRegisters>();
    run_producer(shared, [&](State& state) { produce<Tile, OrderA, OrderB>(p, shared, state, work); });
    return;
  }
  ptx::warpgroup_reg_alloc<Tile::kConsumerRegisters>();
  State state;
  WgmmaAccumulators<Tile> acc;
  consume<Tile, OrderA, OrderB>(acc, shared, state, k_tiles_of<Tile>(work), warpgroup - 1);
  store_results(p, shared, acc, work, warpgroup - 1);
}

}  // namespace

template <class T>
Status gemm_tc_06_warp_specialized(MatrixView<T> c, MatrixView<const T> a, MatrixView<const T> b,
                                   const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  constexpr const char* kName = "gemm_tc_06_warp_specialized";
  using Tile = TileOf<T>;
  GemmArgumentsOf<T> g;
  RONDO_RETURN_IF_ERROR(check_rung(kName, c, a, b, options, workspace, &g));
  RONDO_RETURN_IF_ERROR(check_wgmma(kName));
  const GemmProblem problem = problem_of(g);
  RONDO_RETURN_IF_ERROR(check_wgmma_operands(kName, problem));
  if (g.m == 0 || g.n == 0) return {};
  WarpSpecializedParameters<T> p = {};
  RONDO_RETURN_IF_ERROR(warp_specialized_parameters<Tile>(&p, g, {}, workspace));
  const LaunchShape shape = {.grid_x = ceil_div<int64_t>(g.m, Tile::kM) * p.product.tiles_n,
                             .block_x = Tile::kThreads,
                             .shared_bytes = sizeof(WarpSpecializedShared<Tile>)};
  return with_wgmma_orders<T>(problem.a.order, problem.b.order, [&]<Order OrderA, Order OrderB>() {
    return launch(kName, shape, stream, gemm_tc_06_warp_specialized_kernel<T, OrderA, OrderB>, p);
  });
}
RONDO_INSTANTIATE_RUNG(gemm_tc_06_warp_specialized)

}  // namespace rondo
