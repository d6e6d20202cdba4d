// The products by wgmma in tf32x3: the persistent kernel with the roles of wgmma_tf32x3.cuh. Operands that
// are not K-major, and those that tensor maps cannot describe, are for mma.sync.
#include <rondo/kernels/gemm/wgmma/gemm_wgmma.h>
#include <rondo/kernels/gemm/wgmma/persistent.cuh>
#include <rondo/kernels/gemm/wgmma/tiles.cuh>

namespace rondo {
namespace {

using BlockTile = SplitTile<128, 4>;

__global__ __launch_bounds__(BlockTile::kThreads, 1) void gemm_persistent_tf32x3_kernel(
    const __grid_constant__ WarpSpecializedParameters<float> p, const TileGrid tiles) {
  if constexpr (!kHasSm90a) return __trap();
  auto& shared = shared_memory<SplitShared<BlockTile>>();
  init_ring(shared);
  using State = PipelineState<BlockTile::kStages>;
  State state;
  const int warpgroup = static_cast<int>(threadIdx.x) / kWarpgroup;
  if (warpgroup == 0) {
    ptx::warpgroup_reg_dealloc<BlockTile::kProducerRegisters>();
    if (threadIdx.x >= 32)
      for_each_tile<BlockTile>(
          p, tiles, [&](const TileWork& work) { split_b(shared, state, k_tiles_of<BlockTile>(work)); });
    run_producer(shared, [&](State& of_producer) {
      for_each_tile<BlockTile>(p, tiles, [&](const TileWork& work) {
        produce<BlockTile, Order::k_major, Order::k_major>(p, shared, of_producer, work);
      });
    });
    return;
  }
  ptx::warpgroup_reg_alloc<BlockTile::kConsumerRegisters>();
  WgmmaAccumulators<BlockTile> acc;
  for_each_tile<BlockTile>(p, tiles, [&](const TileWork& work) {
    consume_split(acc, shared, state, k_tiles_of<BlockTile>(work), warpgroup - 1);
    store_results<BlockTile>(p, shared, acc, work, warpgroup - 1);
  });
}

}  // namespace

template <>
Status launch_gemm_wgmma<Arithmetic::tf32x3>(const char* name, const GemmPlan& plan, const GemmArguments& g,
                                             Workspace workspace, cudaStream_t stream) {
  if (plan.stream_k_blocks > 0) return bad_argument(name, ": stream-K has no tiles of tf32x3");
  return with_wgmma_tile<Arithmetic::tf32x3>(name, plan.tile, [&]<class Tile>() {
    static_assert(std::is_same_v<Tile, BlockTile>);
    return launch_persistent<Tile>(
        name, g, plan.parts, workspace, stream,
        [&]<Order, Order>(LaunchShape shape, const auto& p, const TileGrid& tiles) {
          shape.shared_bytes = sizeof(SplitShared<Tile>);
          return launch(name, shape, stream, gemm_persistent_tf32x3_kernel, p, tiles);
        });
  });
}

}  // namespace rondo
