// Idea:      one block per multiprocessor computes a sequence of tiles. The producer thread runs ahead across
//            tiles: it loads the next tile's first k-tiles during the epilogue of the current one. The order
//            of the tiles (wgmma/tile_order.h) lets blocks that run at the same time read the same rows and
//            columns from L2. The kernel also supports other tiles and split-K, which gemm() uses
//            (gemm_plan.h); this rung uses 128 x 256 without split-K.
// Builds on: gemm_tc_06_warp_specialized. The kernel is in wgmma/persistent.cuh.
// Limit now: L2, which sends each k-tile to every block that needs it; the stores, during which both
//            consumers are idle.
// Next:      gemm_tc_08_clusters: a k-tile that two blocks need is loaded once for both.
//            gemm_tc_09_stream_k: a last round of tiles that all blocks share.
#include <rondo/kernels/gemm/gemm_with_plan.h>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rung.h>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rungs.h>

namespace rondo {

template <class T>
Status gemm_tc_07_persistent(MatrixView<T> c, MatrixView<const T> a, MatrixView<const T> b,
                             const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  constexpr const char* kName = "gemm_tc_07_persistent";
  GemmArgumentsOf<T> arguments;
  RONDO_RETURN_IF_ERROR(check_rung(kName, c, a, b, options, workspace, &arguments));
  RONDO_RETURN_IF_ERROR(check_wgmma(kName));
  RONDO_RETURN_IF_ERROR(check_wgmma_operands(kName, problem_of(arguments)));
  GemmPlan plan;
  plan.tile = TileId{Instruction::wgmma, arguments.arithmetic, 128, 256};
  return gemm_with_plan(kName, plan, arguments, workspace, stream);
}
RONDO_INSTANTIATE_RUNG(gemm_tc_07_persistent)

}  // namespace rondo
