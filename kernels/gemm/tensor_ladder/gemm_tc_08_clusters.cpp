// Idea:      two blocks with tiles one below the other need the same columns of B. As a cluster, each loads
//            its rows of A and half of the columns of B, and a multicast copies that half to both: L2 sends
//            2/3 of the bytes. A stage is free when the consumers of both blocks are done with it, so each
//            consumer warp arrives at a barrier of its own block and of the other.
// Builds on: gemm_tc_07_persistent. The kernel is in wgmma/clusters.cuh.
// Limit now: the stores, during which both consumers are idle; a last row of tiles without a partner, for
//            which a block multiplies zeros.
// Next:      two consumers with a tile each, so that one stores while the other multiplies.
#include <rondo/kernels/gemm/gemm_with_plan.h>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rung.h>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rungs.h>

namespace rondo {

template <class T>
Status gemm_tc_08_clusters(MatrixView<T> c, MatrixView<const T> a, MatrixView<const T> b,
                           const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  constexpr const char* kName = "gemm_tc_08_clusters";
  GemmArgumentsOf<T> arguments;
  RONDO_RETURN_IF_ERROR(check_rung(kName, c, a, b, options, workspace, &arguments));
  RONDO_RETURN_IF_ERROR(check_wgmma(kName));
  RONDO_RETURN_IF_ERROR(check_wgmma_operands(kName, problem_of(arguments)));
  GemmPlan plan;
  plan.tile = TileId{Instruction::wgmma, arguments.arithmetic, 256, 256, 2};
  return gemm_with_plan(kName, plan, arguments, workspace, stream);
}
RONDO_INSTANTIATE_RUNG(gemm_tc_08_clusters)

}  // namespace rondo
