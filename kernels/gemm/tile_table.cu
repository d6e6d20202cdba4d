// The table of all tiles, from those of the instructions.
#include <rondo/kernels/gemm/tiles.h>

#include <rondo/kernels/gemm/fma/tiles.cuh>
#include <rondo/kernels/gemm/mma/tiles.cuh>
#include <rondo/kernels/gemm/wgmma/tiles.cuh>

#include <tuple>
#include <vector>

namespace rondo {
namespace {

template <class Tile>
constexpr int shared_bytes_of(Order a) {
  if constexpr (Tile::kId.instruction == Instruction::wgmma)
    return sizeof(SharedOf<Tile>);
  else
    return a == Order::k_major ? sizeof(TileShared<Tile, Order::k_major>)
                               : sizeof(TileShared<Tile, Order::mn_major>);
}

template <class Tile>
TileInfo info_of(double efficiency) {
  TileInfo info = {Tile::kId,
                   shared_bytes_of<Tile>(Order::k_major),
                   shared_bytes_of<Tile>(Order::mn_major),
                   Tile::kId.m,
                   Tile::kId.n,
                   efficiency};
  if constexpr (Tile::kId.instruction == Instruction::vector_fma)
    info.step_m = Tile::kPerThreadM, info.step_n = Tile::kPerThreadN;
  return info;
}

template <class... Rows>
void add(std::vector<TileInfo>& to, const std::tuple<Rows...>& rows) {
  std::apply([&](const auto&... row) { (to.push_back(info_of<typename Rows::Tile>(row.efficiency)), ...); },
             rows);
}

std::vector<TileInfo> all_tiles() {
  std::vector<TileInfo> tiles;
  add(tiles, kFmaTiles);
  add(tiles, kMmaTiles<Arithmetic::tf32>);
  add(tiles, kMmaTiles<Arithmetic::tf32x3>);
  add(tiles, kMmaTiles<Arithmetic::bf16>);
  add(tiles, kMmaTiles<Arithmetic::fp16>);
  add(tiles, kWgmmaTiles<Arithmetic::tf32>);
  add(tiles, kWgmmaTiles<Arithmetic::tf32x3>);
  add(tiles, kWgmmaTiles<Arithmetic::bf16>);
  add(tiles, kWgmmaTiles<Arithmetic::fp16>);
  if (kVectorTiles) {
    add(tiles, kVectorFmaTiles<Arithmetic::fp32>);
    add(tiles, kVectorFmaTiles<Arithmetic::tf32>);
    add(tiles, kVectorFmaTiles<Arithmetic::bf16>);
    add(tiles, kVectorFmaTiles<Arithmetic::fp16>);
  }
  return tiles;
}

}  // namespace

std::span<const TileInfo> tile_infos() {
  static const std::vector<TileInfo> kTiles = all_tiles();
  return kTiles;
}

}  // namespace rondo
