// The tiles of mma.sync, of gemm() and of the convolutions.
//
// A warp with 64 x 64 results reads 1 KB from shared memory for 32 products. Those of tf32x3 have two more
// sums, and so half as many results.
#pragma once

#include <rondo/kernels/gemm/tile_row.h>
#include <rondo/kernels/gemm/mma/tensor_tile.cuh>

namespace rondo {

template <Arithmetic kArithmetic, bool x3 = kArithmetic == Arithmetic::tf32x3>
using TensorTile128x128 = TensorTile<kArithmetic, 128, 128, 64, x3 ? 32 : 64, x3 ? 1 : 2>;
template <Arithmetic kArithmetic, bool x3 = kArithmetic == Arithmetic::tf32x3>
using TensorTile64x64 = TensorTile<kArithmetic, 64, 64, 32, 32, x3 ? 2 : 3>;

template <Arithmetic kArithmetic>
inline constexpr auto kMmaTiles =
    std::tuple{TileRow<TensorTile128x128<kArithmetic>>{1.00},
               TileRow<TensorTile64x64<kArithmetic>>{kArithmetic == Arithmetic::tf32x3 ? 0.75 : 0.60}};

// Returns run.template operator()<Tile>() for the tile of mma.sync that has the id.
template <Arithmetic kArithmetic, class Run>
Status with_mma_tile(const char* name, const TileId& id, Run&& run) {
  return with_tile_of(kMmaTiles<kArithmetic>, name, id, run);
}

}  // namespace rondo
