// The launcher of the products by wgmma. Each .cu file instantiates it for one arithmetic, so that they are
// compiled side by side.
#pragma once

#include <rondo/kernels/gemm/wgmma/gemm_wgmma.h>
#include <rondo/kernels/gemm/wgmma/clusters.cuh>
#include <rondo/kernels/gemm/wgmma/stream_k_kernel.cuh>
#include <rondo/kernels/gemm/wgmma/tiles.cuh>

namespace rondo {

template <Arithmetic kArithmetic, class C>
Status launch_gemm_wgmma(const char* name, const GemmPlan& plan,
                         const GemmArgumentsOf<FactorOf<kArithmetic>, C>& g, Workspace workspace,
                         cudaStream_t stream) {
  return with_wgmma_tile<kArithmetic>(name, plan.tile, [&]<class Tile>() {
    constexpr bool kCluster = kClusterBlocks < Tile >> 1;
    if (plan.stream_k_blocks > 0) {
      if constexpr (kCluster)
        return bad_argument(name, ": stream-K has tiles of single blocks only");
      else
        return launch_stream_k<Tile>(name, g, plan.stream_k_blocks, workspace, stream);
    }
    return launch_persistent<Tile>(
        name, g, plan.parts, workspace, stream,
        [&]<Order OrderA, Order OrderB>(const LaunchShape& shape, const auto& p, const TileGrid& tiles) {
          if constexpr (kCluster)
            return launch(name, shape, stream, gemm_clusters_kernel<Tile, OrderA, OrderB>, p, tiles);
          else
            return launch(name, shape, stream, gemm_persistent_kernel<Tile, OrderA, OrderB>, p, tiles);
        });
  });
}

// The instance for results of type C.
#define RONDO_GEMM_WGMMA(arithmetic, C)                                                             \
  template Status launch_gemm_wgmma<arithmetic, C>(const char*, const GemmPlan&,                    \
                                                   const GemmArgumentsOf<FactorOf<arithmetic>, C>&, \
                                                   Workspace, cudaStream_t);

}  // namespace rondo
