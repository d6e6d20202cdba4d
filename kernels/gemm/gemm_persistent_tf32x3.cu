// The kernel of gemm_tc_07_persistent for tf32x3, with the roles of wgmma_tf32x3.cuh. Operands that are not
// K-major, and those that tensor maps cannot describe, are for gemm_tc_04_pipelined.
#include <rondo/kernels/gemm/tensor_ladder/gemm_tc_07_persistent.cuh>
#include <rondo/kernels/gemm/wgmma_tf32x3.cuh>

namespace rondo {
namespace {

using BlockTile = SplitTile<128, 4>;

__global__ __launch_bounds__(BlockTile::kThreads, 1) void gemm_tc_07_persistent_tf32x3_kernel(
    const __grid_constant__ WarpSpecializedParameters<float> p, const TileGrid tiles) {
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

Status launch_gemm_persistent_tf32x3(const char* name, const GemmArguments& g, const GemmConfig& config,
                                     Workspace workspace, cudaStream_t stream) {
  return launch_blocks<BlockTile>(
      name, g, config, workspace, stream,
      [&](LaunchShape shape, const WarpSpecializedParameters<float>& p, const TileGrid& tiles) {
        shape.shared_bytes = sizeof(SplitShared<BlockTile>);
        return launch(name, shape, stream, gemm_tc_07_persistent_tf32x3_kernel, p, tiles);
      });
}

}  // namespace rondo
