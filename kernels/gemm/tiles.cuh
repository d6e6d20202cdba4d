// The tiles that gemm() and the convolutions choose from; gemm_config.cpp says when.
//
// A register tile of 16 x 8 costs 128 registers for the sums, and 24 values from shared memory for each 128
// multiply-adds. On the GPU 16-byte loads then keep up with the arithmetic; on the CPU executor a row is one
// 8-wide vector register. The widths 56 and 24 waste little on 50 and on 20 channels.
#pragma once

#include <rondo/kernels/gemm/gemm_config.h>
#include <rondo/kernels/gemm/tile.cuh>

namespace rondo {

using Tile128x128 = Tile<8, 16, 16, 8, 32, 2>;
using Tile256x56 = Tile<16, 7, 16, 8, 32, 2>;
using Tile256x24 = Tile<16, 3, 16, 8, 32, 2>;
using Tile64x64 = Tile<8, 8, 8, 8, 32, 2>;

template <class Tile>
constexpr bool agrees_with_facts(TileId id) {
  const TileFacts& facts = kTileFacts[static_cast<int>(id)];
  return facts.id == id && facts.m == Tile::kM && facts.n == Tile::kN && facts.threads == Tile::kThreads &&
         facts.bytes_along_k == sizeof(TileShared<Tile, Order::along_k>) &&
         facts.bytes_across_k == sizeof(TileShared<Tile, Order::across_k>);
}
static_assert(agrees_with_facts<Tile128x128>(TileId::k128x128));
static_assert(agrees_with_facts<Tile256x56>(TileId::k256x56));
static_assert(agrees_with_facts<Tile256x24>(TileId::k256x24));
static_assert(agrees_with_facts<Tile64x64>(TileId::k64x64));

// Returns f.template operator()<T>() for the tile T that `id` names.
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
  }
  return bad_argument("there is no tile number ", static_cast<int>(id));
}

}  // namespace rondo
