// gemm() of 16-bit matrices with the tile as an argument, for tests: a large device chooses the smallest tile
// for problems of a test's size.
#pragma once

#include <rondo/kernels/gemm/gemm_config.h>

#include <optional>

namespace rondo {

// Without a tile, as gemm().
template <class T, class C>
Status gemm_with_tile(const char* name, std::optional<TileId> tile, MatrixView<C> c, MatrixView<const T> a,
                      MatrixView<const T> b, const GemmOptions& options, Workspace workspace,
                      cudaStream_t stream);

}  // namespace rondo
