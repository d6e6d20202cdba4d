// The table of all tiles, and the choice among those whose loaders gather, by the estimated time: pure
// functions of a product's shape and of the device, which can be printed and tested without one.
#pragma once

#include <rondo/kernels/gemm/device_properties.h>
#include <rondo/kernels/gemm/gemm_options.h>
#include <rondo/kernels/gemm/tile_id.h>

#include <cstdint>
#include <span>

namespace rondo {

// The properties of a tile that the choice depends on. fma/tiles.cuh, mma/tiles.cuh and wgmma/tiles.cuh have
// the types, and say where the efficiencies are from.
struct TileInfo {
  TileId id;
  int bytes_k_major, bytes_mn_major;  // shared memory of a block's k-tiles, for each order of A
  int step_m, step_n;  // rows and columns that are computed together: of a vector tile its register tile
  // The rate of a full tile's multiply-adds, relative to others of its instruction and arithmetic. That of a
  // vector tile is not used: its copies are counted.
  double efficiency;
};
// The tiles of this build: by multiply-adds, by mma.sync, by wgmma, then by vector registers, which a GPU
// build does not have.
std::span<const TileInfo> tile_infos();
// Null: this build has no such tile.
const TileInfo* find_tile(const TileId& id);
// The id must be that of a tile of tile_infos().
const TileInfo& tile_info(const TileId& id);

// What an operation needs of a tile: its arithmetic, the k-tiles, and extra bytes for each row of the tile.
struct TileNeeds {
  Order order_a = Order::k_major;
  int bytes_per_row = 0;
  Arithmetic arithmetic = Arithmetic::fp32;
};
constexpr int64_t shared_bytes(const TileInfo& tile, const TileNeeds& needs) {
  return (needs.order_a == Order::k_major ? tile.bytes_k_major : tile.bytes_mn_major) +
         static_cast<int64_t>(tile.id.m) * needs.bytes_per_row;
}

// Returns the tile with the least estimated time, among the tiles of needs.arithmetic by multiply-adds or
// mma.sync that fit the device's shared memory. The estimate is the number of blocks on the busiest
// multiprocessor times the work of a block. If none fits: the tile with the fewest bytes.
TileId choose_tile(int64_t m, int64_t n, int64_t splits, const TileNeeds& needs,
                   const DeviceProperties& device);

// The time of a product with tiles of m x n, in any unit: that of the blocks of the busiest multiprocessor.
double estimated_time(const GemmShape& shape, int64_t splits, int m, int n, double speed,
                      int multiprocessors);

}  // namespace rondo
