// The kernel of gemm_tc_07_persistent. Each .cu file instantiates it for one element type, so that they are
// compiled side by side.
#pragma once

#include <rondo/kernels/gemm/gemm_tc_07_persistent.h>
#include <rondo/kernels/gemm/tile_order.h>
#include <rondo/kernels/gemm/warp_roles.cuh>

#include <algorithm>

namespace rondo {

struct TileGrid {
  int64_t m, n, parts;  // rows and columns of tiles, and parts of k
  __host__ __device__ int64_t size() const { return m * n * parts; }
};

// Calls compute(TileWork) for each tile of the block.
template <class Tile, class T, class Compute>
__device__ __forceinline__ void for_each_tile(const RolesParameters<T>& p, const TileGrid& tiles,
                                              const Compute& compute) {
  for (int64_t number = blockIdx.x; number < tiles.size(); number += gridDim.x) {
    const int64_t part = number / (tiles.m * tiles.n);
    const TilePosition tile = tile_position(number - part * tiles.m * tiles.n, tiles.m, tiles.n);
    compute(tile_work<Tile>(p, tile.m, tile.n, part));
  }
}

template <class Tile, Order OrderA, Order OrderB>
__global__ __launch_bounds__(Tile::kThreads, 1) void gemm_tc_07_persistent_kernel(
    const __grid_constant__ RolesParameters<typename Tile::Element> p, const TileGrid tiles) {
  auto& shared = shared_memory<RolesShared<Tile>>();
  init_ring(shared);
  // Each role goes around the ring from tile to tile: the next tile's k-tiles are loaded during the stores.
  RingPosition<Tile::kStages> at;
  const int warpgroup = static_cast<int>(threadIdx.x) / kWarpgroup;
  if (warpgroup == 0) {
    ptx::release_registers<Tile::kProducerRegisters>();
    if (threadIdx.x < 32 && ptx::elect_one())
      for_each_tile<Tile>(p, tiles,
                          [&](const TileWork& work) { produce<Tile, OrderA, OrderB>(p, shared, at, work); });
    return;
  }
  ptx::request_registers<Tile::kConsumerRegisters>();
  WgmmaSums<Tile> sums;
  for_each_tile<Tile>(p, tiles, [&](const TileWork& work) {
    consume<Tile, OrderA, OrderB>(sums, shared, at, k_tiles_of<Tile>(work), warpgroup - 1);
    store_results(p, shared, sums, work, warpgroup - 1);
  });
}

// Calls launch_kernel(LaunchShape, RolesParameters, TileGrid) for a block per multiprocessor, and adds the
// parts of k.
template <class Tile, class T, class C, class LaunchKernel>
Status launch_blocks(const GemmArgumentsOf<T, C>& g, const GemmConfig& config, Workspace workspace,
                     cudaStream_t stream, const LaunchKernel& launch_kernel) {
  if (g.m == 0 || g.n == 0) return {};
  RolesParameters<T> p = {};
  RONDO_RETURN_IF_ERROR(roles_parameters<Tile>(&p, g, config, workspace));
  int device = 0, multiprocessors = 0;
  RONDO_CUDA(cudaGetDevice(&device));
  RONDO_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  const TileGrid tiles = {ceil_div<int64_t>(g.m, Tile::kM), p.product.tiles_n, config.splits};
  const LaunchShape shape = {.grid_x = std::min<int64_t>(tiles.size(), multiprocessors),
                             .block_x = Tile::kThreads,
                             .shared_bytes = sizeof(RolesShared<Tile>)};
  RONDO_RETURN_IF_ERROR(launch_kernel(shape, p, tiles));
  return config.splits > 1 ? sum_partials(p.product.partials, g.c, g.c_stride, 1, gemm_epilogue(g), stream)
                           : Status();
}

template <class Tile, class T, class C>
Status launch_persistent_with(const char* name, const GemmArgumentsOf<T, C>& g, const GemmConfig& config,
                              Workspace workspace, cudaStream_t stream) {
  const ProductFacts facts = facts_of(g);
  return launch_blocks<Tile>(
      g, config, workspace, stream,
      [&](const LaunchShape& shape, const RolesParameters<T>& p, const TileGrid& tiles) {
        return with_wgmma_orders<T>(facts.a.order, facts.b.order, [&]<Order OrderA, Order OrderB>() {
          return launch(name, shape, stream, gemm_tc_07_persistent_kernel<Tile, OrderA, OrderB>, p, tiles);
        });
      });
}

template <class T, class C>
Status launch_gemm_persistent(const char* name, WgmmaTileId tile, const GemmArgumentsOf<T, C>& g,
                              const GemmConfig& config, Workspace workspace, cudaStream_t stream) {
  switch (tile) {
    case WgmmaTileId::k128x256:
      return launch_persistent_with<RolesTile<T, 128, 256, 2, 4>>(name, g, config, workspace, stream);
    case WgmmaTileId::k192x192:
      return launch_persistent_with<RolesTile<T, 192, 192, 3, 4>>(name, g, config, workspace, stream);
    case WgmmaTileId::k128x128:
      break;
  }
  return launch_persistent_with<RolesTile<T, 128, 128, 2, 6>>(name, g, config, workspace, stream);
}

}  // namespace rondo
