// Idea:      3 k-tiles in shared memory: while one is multiplied, cp.async copies the next two. The fragments
//            of a step are loaded while those of the step before are multiplied. A warp computes 64 x 64
//            results, so 32 products need 8 ldmatrix. For few results with a long sum, several blocks share a
//            tile.
// Builds on: gemm_tc_03_ldmatrix, gemm_06_pipelined, whose kernel it is: fma/pipelined.cuh with the tile
//            128x128 of mma/tensor_tile.cuh, and the loop of mma/tensor_mainloop.cuh.
// Limit now: mma.sync. On 9.0 it reaches about 0.6 of the peak of the tensor cores; wgmma is needed for more.
#include <rondo/kernels/gemm/ladder/pipelined_rung.h>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rung.h>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rungs.h>

#include <type_traits>

namespace rondo {

template <class T>
Status gemm_tc_04_pipelined(MatrixView<T> c, MatrixView<const T> a, MatrixView<const T> b,
                            const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  constexpr const char* kName = "gemm_tc_04_pipelined";
  if (std::is_same_v<T, float> && options.math == Math::fp32)
    return bad_argument(kName, ": math is fp32, this rung has only tf32 and tf32x3");
  return run_pipelined_rung(kName, c, a, b, options, workspace, stream);
}
RONDO_INSTANTIATE_RUNG(gemm_tc_04_pipelined)

}  // namespace rondo
