// gemm() of __nv_bfloat16 matrices.
#include <rondo/kernels/gemm/gemm_narrow.cuh>
#include <rondo/kernels/gemm/gemm_with_tile.h>

namespace rondo {

Status gemm(MatrixView<__nv_bfloat16> c, MatrixView<const __nv_bfloat16> a, MatrixView<const __nv_bfloat16> b,
            const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  return gemm_narrow("gemm", {}, c, a, b, options, workspace, stream);
}

Status gemm(MatrixView<float> c, MatrixView<const __nv_bfloat16> a, MatrixView<const __nv_bfloat16> b,
            const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  return gemm_narrow("gemm", {}, c, a, b, options, workspace, stream);
}

Status gemm_with_tile(const char* name, TileId tile, MatrixView<__nv_bfloat16> c,
                      MatrixView<const __nv_bfloat16> a, MatrixView<const __nv_bfloat16> b,
                      const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  return gemm_narrow(name, tile, c, a, b, options, workspace, stream);
}

Status gemm_with_tile(const char* name, TileId tile, MatrixView<float> c, MatrixView<const __nv_bfloat16> a,
                      MatrixView<const __nv_bfloat16> b, const GemmOptions& options, Workspace workspace,
                      cudaStream_t stream) {
  return gemm_narrow(name, tile, c, a, b, options, workspace, stream);
}

}  // namespace rondo
