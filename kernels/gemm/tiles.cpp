#include <rondo/kernels/gemm/tiles.h>

#include <rondo/kernels/core/launch.cuh>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace rondo {

const TileInfo* find_tile(const TileId& id) {
  for (const TileInfo& tile : tile_infos())
    if (tile.id == id) return &tile;
  return nullptr;
}

const TileInfo& tile_info(const TileId& id) {
  const TileInfo* const tile = find_tile(id);
  assert(tile != nullptr);
  return *tile;
}

namespace {

// estimated_time() of vector tiles, which leave out register tiles without results. A block copies all rows
// and columns of its tile: a copied value counts as kCopy multiply-adds, an estimate.
double time_of_vector_tile(int64_t m, int64_t n, int64_t splits, const TileInfo& tile, int multiprocessors) {
  constexpr double kCopy = 16;
  const auto computed = [](int64_t outer, int step) {
    return static_cast<double>(ceil_div<int64_t>(outer, step)) * step;
  };
  const double rows = computed(m, tile.step_m), columns = computed(n, tile.step_n);
  const double tiles = static_cast<double>(ceil_div<int64_t>(m, tile.id.m)) *
                       static_cast<double>(ceil_div<int64_t>(n, tile.id.n));
  if (tiles == 0) return 0;
  const double copies = kCopy * (tile.id.m + tile.id.n);
  const double largest = std::min<double>(rows, tile.id.m) * std::min<double>(columns, tile.id.n);
  const double of_busiest = std::ceil(tiles * static_cast<double>(splits) / multiprocessors);
  return std::max(of_busiest * (rows * columns / tiles + copies), largest + copies);
}

}  // namespace

TileId choose_tile(int64_t m, int64_t n, int64_t splits, const TileNeeds& needs,
                   const DeviceProperties& device) {
  const auto fits = [&](const TileInfo& tile) {
    return shared_bytes(tile, needs) <= device.shared_bytes_per_block;
  };
  const auto suits = [&](const TileInfo& tile, bool vectors) {
    return tile.id.arithmetic == needs.arithmetic && tile.id.instruction != Instruction::wgmma &&
           (tile.id.instruction == Instruction::vector_fma) == vectors;
  };
  // If the executor simulates a small GPU (SIMT_GPU), most vector tiles do not fit its shared memory. Then
  // the GPU tiles are used.
  constexpr int kLeastForVectors = 96 << 10;
  const bool vectors =
      (uses_tensor_cores(needs.arithmetic) ? device.vectors_for_tensor_cores : device.vectors) &&
      device.shared_bytes_per_block >= kLeastForVectors &&
      std::ranges::any_of(tile_infos(),
                          [&](const TileInfo& tile) { return suits(tile, true) && fits(tile); });
  const TileInfo *best = nullptr, *smallest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const TileInfo& tile : tile_infos()) {
    if (!suits(tile, vectors)) continue;
    if (smallest == nullptr || shared_bytes(tile, needs) < shared_bytes(*smallest, needs)) smallest = &tile;
    if (!fits(tile)) continue;
    const int multiprocessors = std::max(1, device.multiprocessors);
    const double time =
        vectors ? time_of_vector_tile(m, n, splits, tile, multiprocessors)
                : estimated_time({m, n, 1}, splits, tile.id.m, tile.id.n, tile.efficiency, multiprocessors);
    if (time < least) {
      best = &tile;
      least = time;
    }
  }
  return best != nullptr ? best->id : smallest->id;
}

double estimated_time(const GemmShape& shape, int64_t splits, int m, int n, double speed,
                      int multiprocessors) {
  const int64_t blocks =
      saturating_product({ceil_div<int64_t>(shape.m, m), ceil_div<int64_t>(shape.n, n), splits});
  return static_cast<double>(ceil_div<int64_t>(blocks, multiprocessors)) * m * n / speed;
}

}  // namespace rondo
