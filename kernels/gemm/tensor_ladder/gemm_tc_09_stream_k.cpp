// Idea:      stream-K. If the number of tiles is no multiple of that of blocks, some blocks are idle in the
//            last round. So the tiles of the last full round and those after it are divided by k-tiles,
//            evenly among the blocks (stream_k.cuh). A block that has a part of a tile writes its sums to the
//            workspace. Of the warps with the same rows of a tile, the last one to arrive adds their parts in
//            the order of k, and stores the results. No block waits for another.
// Builds on: gemm_tc_07_persistent. The kernel is in gemm_tc_09_stream_k.cuh, with the tiles of 07, of which
//            this rung uses 128 x 256.
// Limit now: the partial sums, 128 KB for each part of a tile. They pay if the tile has a long sum, and if
//            the last round of whole tiles is far from full. The results depend on the number of blocks.
// Next:      blocks of a cluster that divide tiles, with multicast as in gemm_tc_08_clusters.
#include <rondo/kernels/gemm/tensor_ladder/gemm_tc_09_stream_k.h>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rung.h>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rungs.h>
#include <rondo/kernels/core/launch.cuh>

#include <algorithm>

namespace rondo {
namespace {

constexpr WgmmaTileId kTile = WgmmaTileId::k128x256;

int64_t tiles_of(int64_t m, int64_t n) {
  const WgmmaTileInfo& tile = wgmma_tile_infos()[static_cast<size_t>(kTile)];
  return saturating_product({ceil_div<int64_t>(m, tile.m), ceil_div<int64_t>(n, tile.n)});
}

}  // namespace

// The rung has at most as many blocks as tiles, and divides none if there are as many.
int64_t gemm_tc_09_workspace_bytes(const GemmShape& shape) {
  const auto blocks = static_cast<int>(std::min<int64_t>(tiles_of(shape.m, shape.n) - 1, kStreamKBlocks));
  return blocks > 0 ? stream_k_workspace_bytes(kTile, blocks) : 0;
}

template <class T>
Status gemm_tc_09_stream_k(MatrixView<T> c, MatrixView<const T> a, MatrixView<const T> b,
                           const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  constexpr const char* kName = "gemm_tc_09_stream_k";
  GemmArgumentsOf<T> arguments;
  RONDO_RETURN_IF_ERROR(check_rung(kName, c, a, b, options, workspace, &arguments, GemmWorkspace::stream_k));
  RONDO_RETURN_IF_ERROR(check_wgmma(kName));
  RONDO_RETURN_IF_ERROR(check_wgmma_operands(kName, problem_of(arguments)));
  DeviceProperties device;
  RONDO_RETURN_IF_ERROR(device_properties(&device));
  const auto blocks = static_cast<int>(std::min<int64_t>(
      tiles_of(arguments.m, arguments.n), std::clamp(device.multiprocessors, 1, kStreamKBlocks)));
  return launch_gemm_stream_k(kName, kTile, arguments, blocks, workspace, stream);
}
RONDO_INSTANTIATE_RUNG(gemm_tc_09_stream_k)

}  // namespace rondo
