// The tiles of wgmma, of gemm().
//
// Their efficiencies are relative to 128 x 256. Those of single blocks are estimates, from the bytes of
// shared memory that a product reads; no source has one of 192 x 176, whose tiles cover 2056 x 2056 results
// in one round of 132. That of pairs is 734 to 704 TFLOP/s, of a kernel with these tiles at 4096 x 4096 x
// 4096 on an H100 (github.com/pranjalssh/fast.cu). tf32x3 has two sums, which fit into the registers of a
// small tile only.
#pragma once

#include <rondo/kernels/gemm/tile_row.h>
#include <rondo/kernels/gemm/wgmma/wgmma_tf32x3.cuh>

namespace rondo {

template <Arithmetic kArithmetic>
inline constexpr auto kWgmmaTiles =
    std::tuple{TileRow<WarpSpecializedTile<FactorOf<kArithmetic>, 128, 256, 2, 4>>{1},
               TileRow<WarpSpecializedTile<FactorOf<kArithmetic>, 192, 192, 3, 4>>{0.98},
               TileRow<WarpSpecializedTile<FactorOf<kArithmetic>, 192, 176, 3, 4>>{0.97},
               TileRow<WarpSpecializedTile<FactorOf<kArithmetic>, 128, 128, 2, 6>>{0.85},
               TileRow<WarpSpecializedTile<FactorOf<kArithmetic>, 128, 64, 2, 8>>{0.6},
               TileRow<ClusterTile<FactorOf<kArithmetic>, 128, 256, 2, 4>>{1.04}};
template <>
inline constexpr auto kWgmmaTiles<Arithmetic::tf32x3> = std::tuple{TileRow<SplitTile<128, 4>>{0.85}};

// Returns run.template operator()<Tile>() for the tile of wgmma that has the id.
template <Arithmetic kArithmetic, class Run>
Status with_wgmma_tile(const char* name, const TileId& id, Run&& run) {
  return with_tile_of(kWgmmaTiles<kArithmetic>, name, id, run);
}

}  // namespace rondo
