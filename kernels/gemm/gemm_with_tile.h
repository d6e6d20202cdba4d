// gemm() of 16-bit matrices with the tile as an argument, for tests: a large device chooses the smallest tile
// for problems of a test's size.
#pragma once

#include <rondo/kernels/gemm/gemm_config.h>

namespace rondo {

Status gemm_with_tile(const char* name, TileId tile, MatrixView<__nv_bfloat16> c,
                      MatrixView<const __nv_bfloat16> a, MatrixView<const __nv_bfloat16> b,
                      const GemmOptions& options, Workspace workspace, cudaStream_t stream);
Status gemm_with_tile(const char* name, TileId tile, MatrixView<float> c, MatrixView<const __nv_bfloat16> a,
                      MatrixView<const __nv_bfloat16> b, const GemmOptions& options, Workspace workspace,
                      cudaStream_t stream);
Status gemm_with_tile(const char* name, TileId tile, MatrixView<__half> c, MatrixView<const __half> a,
                      MatrixView<const __half> b, const GemmOptions& options, Workspace workspace,
                      cudaStream_t stream);
Status gemm_with_tile(const char* name, TileId tile, MatrixView<float> c, MatrixView<const __half> a,
                      MatrixView<const __half> b, const GemmOptions& options, Workspace workspace,
                      cudaStream_t stream);

}  // namespace rondo
