#include <rondo/kernels/gemm/gemm_config.h>
#include <rondo/kernels/gemm/workspace_bound.h>

#include <rondo/kernels/core/launch.cuh>

#ifdef __SIMT__
#include <simt/settings.h>
#endif

#include <algorithm>
#include <limits>

namespace rondo {
namespace {

// The executor takes 1.6 times as long for wgmma as for mma.sync, so it has wgmma only where SIMT_GPU asks
// for the kernels of a GPU.
bool prefers_wgmma() {
#ifdef __SIMT__
  return !simt::settings().gpu.empty();
#else
  return true;
#endif
}

int64_t round_up(int64_t value, int64_t multiple) {
  return saturating_product({ceil_div<int64_t>(value, multiple), multiple});
}

}  // namespace

Status device_properties(DeviceProperties* properties) {
  int device = 0;
  RONDO_CUDA(cudaGetDevice(&device));
  RONDO_CUDA(cudaDeviceGetAttribute(&properties->multiprocessors, cudaDevAttrMultiProcessorCount, device));
  RONDO_CUDA(cudaDeviceGetAttribute(&properties->shared_bytes_per_block,
                                    cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  properties->vectors = tile_infos().back().vectors;
  int major = 0;
  RONDO_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  properties->wgmma = major == 9 && prefers_wgmma() && check_wgmma("").ok();
  return {};
}

std::ostream& operator<<(std::ostream& out, const GemmConfig& config) {
  return out << concat("tile ", tile_infos()[static_cast<size_t>(config.tile)].name, ", ", config.splits,
                       config.splits == 1 ? " part" : " parts", " of k = ", config.k_per_split);
}

namespace {
constexpr int64_t kEnoughTiles = 128;  // about one per multiprocessor of a large GPU
constexpr int64_t kTileM = 128, kTileN = 64;
}  // namespace

GemmConfig split_k(const GemmShape& shape, int64_t least_k) {
  const int64_t tiles = std::max<int64_t>(
      1, saturating_product({ceil_div<int64_t>(shape.m, kTileM), ceil_div<int64_t>(shape.n, kTileN)}));
  const int64_t wanted = std::max<int64_t>(1, std::min(kEnoughTiles / tiles, shape.k / least_k));
  GemmConfig config;
  config.k_per_split = std::max<int64_t>(64, round_up(ceil_div<int64_t>(shape.k, wanted), 64));
  config.splits = std::max<int64_t>(1, ceil_div<int64_t>(shape.k, config.k_per_split));
  return config;
}

// The parts of all tiles together are at most kEnoughTiles, for every k.
int64_t most_partial_bytes() { return kEnoughTiles * kTileM * kTileN * int64_t{sizeof(float)}; }

TileId choose_tile(int64_t m, int64_t n, int64_t splits, const TileNeeds& needs,
                   const DeviceProperties& device) {
  const auto fits = [&](const TileInfo& tile) {
    return shared_bytes(tile, needs) <= device.shared_bytes_per_block;
  };
  const auto suits = [&](const TileInfo& tile) { return tile.type == needs.type && tile.math == needs.math; };
  // If the executor simulates a small GPU (SIMT_GPU), no vector tile fits its shared memory. Then the GPU
  // tiles are used.
  const bool vectors = device.vectors && std::ranges::any_of(tile_infos(), [&](const TileInfo& tile) {
                         return tile.vectors && suits(tile) && fits(tile);
                       });
  TileId best = {};
  double least = std::numeric_limits<double>::infinity();
  for (const TileInfo& tile : tile_infos()) {
    if (!suits(tile) || tile.vectors != vectors) continue;
    if (least == std::numeric_limits<double>::infinity() && tile.m == 64) best = tile.id;  // the smallest
    if (!fits(tile)) continue;
    const int64_t blocks =
        saturating_product({ceil_div<int64_t>(m, tile.m), ceil_div<int64_t>(n, tile.n), splits});
    const int64_t rounds = ceil_div<int64_t>(blocks, std::max(1, device.multiprocessors));
    const double time = static_cast<double>(rounds) * tile.m * tile.n / tile.efficiency;
    if (time < least) {
      best = tile.id;
      least = time;
    }
  }
  return best;
}

GemmConfig choose_gemm_config(const GemmShape& shape, const TileNeeds& needs,
                              const DeviceProperties& device) {
  GemmConfig config = split_k(shape);
  config.tile = choose_tile(shape.m, shape.n, config.splits, needs, device);
  return config;
}

}  // namespace rondo
