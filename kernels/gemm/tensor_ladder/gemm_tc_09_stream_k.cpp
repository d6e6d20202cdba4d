// Idea:      stream-K. If the number of tiles is no multiple of that of blocks, some blocks are idle in the
//            last round. So the tiles of the last full round and those after it are divided by k-tiles,
//            evenly among the blocks (stream_k.cuh). A block that has a part of a tile writes its sums to the
//            workspace. Of the warps with the same rows of a tile, the last one to arrive adds their parts in
//            the order of k, and stores the results. No block waits for another.
// Builds on: gemm_tc_07_persistent. The kernel is in wgmma/stream_k_kernel.cuh, with the tiles of 07, of
//            which this rung uses 128 x 256.
// Limit now: the partial sums, 128 KB for each part of a tile. They pay if the tile has a long sum, and if
//            the last round of whole tiles is far from full. The results depend on the number of blocks.
// Next:      blocks of a cluster that divide tiles, with multicast as in gemm_tc_08_clusters.
#include <rondo/kernels/gemm/gemm_with_plan.h>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rung.h>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rungs.h>
#include <rondo/kernels/core/launch.cuh>

#include <algorithm>

namespace rondo {
namespace {

constexpr int kTileM = 128, kTileN = 256;

TileId tile_of(Arithmetic arithmetic) { return {Instruction::wgmma, arithmetic, kTileM, kTileN}; }

int64_t count_tiles(int64_t m, int64_t n) {
  return saturating_product({ceil_div<int64_t>(m, kTileM), ceil_div<int64_t>(n, kTileN)});
}

}  // namespace

// The rung has at most as many blocks as tiles, and divides none if there are as many.
int64_t gemm_tc_09_workspace_bytes(const GemmShape& shape) {
  const auto blocks = static_cast<int>(std::min<int64_t>(count_tiles(shape.m, shape.n) - 1, kStreamKBlocks));
  return blocks > 0 ? stream_k_workspace_bytes(tile_of(Arithmetic::tf32), blocks) : 0;
}

template <class T>
Status gemm_tc_09_stream_k(MatrixView<T> c, MatrixView<const T> a, MatrixView<const T> b,
                           const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  constexpr const char* kName = "gemm_tc_09_stream_k";
  const auto workspace_bytes = [](const GemmShape& shape, const GemmOptions&, DType) {
    return gemm_tc_09_workspace_bytes(shape);
  };
  GemmArgumentsOf<T> arguments;
  RONDO_RETURN_IF_ERROR(check_rung(kName, c, a, b, options, workspace, &arguments, +workspace_bytes));
  RONDO_RETURN_IF_ERROR(check_wgmma(kName));
  RONDO_RETURN_IF_ERROR(check_wgmma_operands(kName, problem_of(arguments)));
  DeviceProperties device;
  RONDO_RETURN_IF_ERROR(device_properties(&device));
  const auto blocks = static_cast<int>(std::min<int64_t>(
      count_tiles(arguments.m, arguments.n), std::clamp(device.multiprocessors, 1, kStreamKBlocks)));
  GemmPlan plan;
  plan.tile = tile_of(arguments.arithmetic);
  plan.stream_k_blocks = blocks;
  return gemm_with_plan(kName, plan, arguments, workspace, stream);
}
RONDO_INSTANTIATE_RUNG(gemm_tc_09_stream_k)

}  // namespace rondo
