// The tiles of gemm() and of the convolutions; gemm_config.cpp chooses between them.
//
// A register tile of 16 x 8 uses 128 registers for the sums, and reads 24 values from shared memory per 128
// multiply-adds. On a GPU, 16-byte loads can then keep up with the arithmetic. On the CPU executor a row is
// one 8-wide vector register. The widths 56 and 24 waste little for 50 and 20 channels.
#pragma once

#include <rondo/kernels/gemm/gemm_config.h>
#include <rondo/kernels/gemm/tensor_tile.cuh>
#include <rondo/kernels/gemm/tile.cuh>

namespace rondo {

using Tile128x128 = Tile<8, 16, 16, 8, 32, 2>;
using Tile256x56 = Tile<16, 7, 16, 8, 32, 2>;
using Tile256x24 = Tile<16, 3, 16, 8, 32, 2>;
using Tile64x64 = Tile<8, 8, 8, 8, 32, 2>;

// Tiles for the CPU executor, where a row of a thread's results is two vector registers. A VectorTile uses
// half of the registers for sums: enough independent sums for two multiply-adds per cycle. A TallVectorTile
// uses three quarters, which needs fewer loads. For some matrices one or the other leaves less of the tile
// unused. GPU builds do not have these tiles.
template <int M, int N, int PerThreadM = kTileRegisters.count / 4, int PerThreadN = 2 * kTileRegisters.lanes>
using VectorTile = Tile<M / PerThreadM, N / PerThreadN, PerThreadM, PerThreadN, 64, 2, true>;
inline constexpr int kTallRows = kTileRegisters.count * 3 / 8 / 4 * 4;
template <int M, int N>
using TallVectorTile = VectorTile<M, N, kTallRows>;

// Tiles for tensor cores. A warp with 64 x 64 results reads 1 KB from shared memory for 32 products; those of
// tf32x3 have two more sums, and so half as many results.
template <class Product>
using TensorTile128x128 =
    std::conditional_t<Product::kMath == Math::tf32x3, TensorTile<Product, 128, 128, 64, 32, 1>,
                       TensorTile<Product, 128, 128, 64, 64, 2>>;
template <class Product>
using TensorTile64x64 = TensorTile<Product, 64, 64, 32, 32, Product::kMath == Math::tf32x3 ? 2 : 3>;

// Returns f.template operator()<T>() for the tile type T of `id`, one of those without tensor cores.
template <class F>
Status with_tile(TileId id, F&& f) {
  switch (id) {
    case TileId::k128x128:
      return f.template operator()<Tile128x128>();
    case TileId::k256x56:
      return f.template operator()<Tile256x56>();
    case TileId::k256x24:
      return f.template operator()<Tile256x24>();
    case TileId::k64x64:
      return f.template operator()<Tile64x64>();
    default:
      break;
  }
  if constexpr (kVectorTiles) {
    switch (id) {
      case TileId::kVectors128x128:
        return f.template operator()<VectorTile<128, 128>>();
      case TileId::kVectors128x64:
        return f.template operator()<VectorTile<128, 64>>();
      case TileId::kVectors128x32:
        return f.template operator()<VectorTile<128, 32>>();
      case TileId::kVectors64x64:
        return f.template operator()<VectorTile<64, 64>>();
      case TileId::kVectors192x128:
        return f.template operator()<TallVectorTile<192, 128>>();
      case TileId::kVectors192x64:
        return f.template operator()<TallVectorTile<192, 64>>();
      default:
        break;
    }
  }
  return bad_argument("there is no tile number ", static_cast<int>(id));
}

// The same for the tiles of `Product`.
template <class Product, class F>
Status with_tensor_tile(TileId id, F&& f) {
  const bool large = id == TileId::kTf32Of128x128 || id == TileId::kTf32x3Of128x128 ||
                     id == TileId::kBf16Of128x128 || id == TileId::kFp16Of128x128;
  return large ? f.template operator()<TensorTile128x128<Product>>()
               : f.template operator()<TensorTile64x64<Product>>();
}

}  // namespace rondo
