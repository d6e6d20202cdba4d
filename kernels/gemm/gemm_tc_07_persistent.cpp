// Idea:      a block for each multiprocessor, which computes tile after tile. The loading thread is
//            ahead by the stages of the ring, also from one tile to the next: the first k-tiles of a tile
//            arrive while the results of the one before are stored. The order of the tiles (tile_order.h)
//            lets blocks that run at the same time read the same rows and columns from L2. Tiles by shape,
//            and split-K, as gemm() chooses them (gemm_plan.h).
// Builds on: gemm_tc_06_warp_roles. The kernel is in gemm_tc_07_persistent.cuh.
// Limit now: L2, which sends each k-tile to every block that needs it; the stores, during which both
//            consumers are idle.
// Next:      gemm_tc_08_clusters: a k-tile that two blocks need is loaded once for both.
#include <rondo/kernels/gemm/gemm_tc_07_persistent.h>
#include <rondo/kernels/gemm/tensor_rung.h>
#include <rondo/kernels/gemm/tensor_rungs.h>

namespace rondo {

template <class T>
Status gemm_tc_07_persistent(MatrixView<T> c, MatrixView<const T> a, MatrixView<const T> b,
                             const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  constexpr const char* kName = "gemm_tc_07_persistent";
  GemmArgumentsOf<T> arguments;
  RONDO_RETURN_IF_ERROR(check_rung(kName, c, a, b, options, workspace, &arguments));
  RONDO_RETURN_IF_ERROR(check_wgmma(kName));
  RONDO_RETURN_IF_ERROR(check_wgmma_operands(kName, facts_of(arguments)));
  return launch_gemm_persistent(kName, WgmmaTileId::k128x256, arguments, {}, workspace, stream);
}
RONDO_INSTANTIATE_RUNG(gemm_tc_07_persistent)

}  // namespace rondo
