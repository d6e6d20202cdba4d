// The tiles of multiply-adds, of gemm() and of the convolutions.
//
// A register tile of 16 x 8 uses 128 registers for the sums, and reads 24 values from shared memory per 128
// multiply-adds. On a GPU, 16-byte loads can then keep up with the arithmetic. On the CPU executor a row is
// one 8-wide vector register. 32 columns waste less of a result with 20 channels.
#pragma once

#include <rondo/kernels/gemm/tile_row.h>
#include <rondo/kernels/gemm/fma/tile.cuh>

namespace rondo {

using Tile128x128 = Tile<8, 16, 16, 8, 32, 2>;
using Tile128x32 = Tile<16, 4, 8, 8, 32, 2>;
using Tile64x64 = Tile<8, 8, 8, 8, 32, 2>;

// Tiles for the CPU executor, where a row of a thread's results is two vector registers. A VectorTile uses
// half of the registers for sums: enough independent sums for two multiply-adds per cycle. A TallVectorTile
// uses three quarters, which needs fewer loads. For some matrices one or the other leaves less of the tile
// unused. GPU builds do not have these tiles. Arithmetics of tensor cores have them too: the executor takes
// many times as long for the instructions of tensor cores.
template <int M, int N, Arithmetic kArithmetic = Arithmetic::fp32, int PerThreadM = kTileRegisters.count / 4,
          int PerThreadN = 2 * kTileRegisters.lanes>
using VectorTile = Tile<M / PerThreadM, N / PerThreadN, PerThreadM, PerThreadN, 64, 1, true, kArithmetic>;
inline constexpr int kTallRows = kTileRegisters.count * 3 / 8 / 4 * 4;
template <int M, int N, Arithmetic kArithmetic = Arithmetic::fp32>
using TallVectorTile = VectorTile<M, N, kArithmetic, kTallRows>;

// The efficiencies are those of an H200 (bench/results/h200): the multiply-adds of a multiprocessor, unused
// ones included, relative to those of 128 x 128 in a product of 4096 x 4096 x 4096. That of 64 x 64 is of one
// of 1024 x 1024 x 1024. 128 x 32 is an estimate: it has the threads of 64 x 64, and reads a quarter more.
inline constexpr auto kFmaTiles =
    std::tuple{TileRow<Tile128x128>{1.00}, TileRow<Tile64x64>{0.69}, TileRow<Tile128x32>{0.62}};
template <Arithmetic kArithmetic>
inline constexpr auto kVectorFmaTiles = std::tuple{
    TileRow<VectorTile<128, 128, kArithmetic>>{1}, TileRow<VectorTile<128, 32, kArithmetic>>{1},
    TileRow<VectorTile<64, 64, kArithmetic>>{1}, TileRow<TallVectorTile<192, 128, kArithmetic>>{1}};
template <>
inline constexpr auto kVectorFmaTiles<Arithmetic::fp32> =
    std::tuple{TileRow<VectorTile<128, 128>>{1},     TileRow<VectorTile<128, 64>>{1},
               TileRow<VectorTile<128, 32>>{1},      TileRow<VectorTile<64, 64>>{1},
               TileRow<TallVectorTile<192, 128>>{1}, TileRow<TallVectorTile<192, 64>>{1}};

// Returns run.template operator()<Tile>() for the tile of multiply-adds that has the id. Other arithmetics
// than fp32 have vector tiles only.
template <Arithmetic kArithmetic, class Run>
Status with_fma_tile(const char* name, const TileId& id, Run&& run) {
  if constexpr (kVectorTiles)
    if (id.instruction == Instruction::vector_fma)
      return with_tile_of(kVectorFmaTiles<kArithmetic>, name, id, run);
  if constexpr (kArithmetic == Arithmetic::fp32)
    return with_tile_of(kFmaTiles, name, id, run);
  else
    return with_tile_of(TileRows<>(), name, id, run);
}

}  // namespace rondo
