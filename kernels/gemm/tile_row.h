// Tables of tile types. Each instruction's folder has the table of its tiles (tiles.cuh); tile_table.cu makes
// the one of all.
#pragma once

#include <rondo/kernels/gemm/tile_id.h>

#include <array>
#include <tuple>

namespace rondo {

// A tile type, and the efficiency of its multiply-adds (TileInfo).
template <class TileType>
struct TileRow {
  using Tile = TileType;
  double efficiency;
};

template <class... Rows>
struct TileRows {};

// Returns run.template operator()<Tile>() for the tile of `rows` that has the id.
template <class Run>
Status with_tile_of(TileRows<>, const char* name, const TileId& id, Run&&) {
  return bad_argument(name, ": this build has no tile ", name_of(id), " of ", name_of(id.instruction), " in ",
                      name_of(id.arithmetic));
}
template <class Row, class... Others, class Run>
Status with_tile_of(TileRows<Row, Others...>, const char* name, const TileId& id, Run&& run) {
  if (Row::Tile::kId == id) return run.template operator()<typename Row::Tile>();
  return with_tile_of(TileRows<Others...>(), name, id, run);
}
template <class... Rows, class Run>
Status with_tile_of(const std::tuple<Rows...>&, const char* name, const TileId& id, Run&& run) {
  return with_tile_of(TileRows<Rows...>(), name, id, run);
}

}  // namespace rondo
