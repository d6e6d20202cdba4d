// gemm() of 16-bit matrices. Tests pass a tile of the pipelined kernel.
#pragma once

#include <rondo/kernels/gemm/gemm_plan.h>
#include <rondo/kernels/gemm/tensor_ladder/gemm_tc_07_persistent.h>
#include <rondo/kernels/gemm/tensor_ladder/gemm_tc_09_stream_k.h>
#include <rondo/kernels/gemm/gemm_pipelined.cuh>

#include <optional>

namespace rondo {

// The product with the tile config.tile.
template <class T, class C>
Status launch_gemm_narrow(const char* name, const GemmArgumentsOf<T, C>& g, const GemmConfig& config,
                          Workspace workspace, cudaStream_t stream) {
  if (g.m == 0 || g.n == 0) return {};
  return with_tensor_tile<NarrowProduct<T>>(
      config.tile, [&]<class Tile>() { return launch_pipelined<Tile>(name, g, config, workspace, stream); });
}

template <class T, class C>
Status gemm_narrow(const char* name, std::optional<TileId> tile, MatrixView<C> c, MatrixView<const T> a,
                   MatrixView<const T> b, const GemmOptions& options, Workspace workspace,
                   cudaStream_t stream) {
  GemmArgumentsOf<T, C> arguments;
  RONDO_RETURN_IF_ERROR(check_gemm(name, GemmWorkspace::all, c, a, b, options, workspace, &arguments));
  RONDO_RETURN_IF_ERROR(check_factor_type(name, dtype_of<T>));
  DeviceProperties device;
  RONDO_RETURN_IF_ERROR(device_properties(&device));
  GemmPlan plan = choose_gemm_plan(problem_of(arguments), device);
  if (tile) plan.config.tile = *tile;
  if (!tile && plan.stream_k_blocks > 0)
    return launch_gemm_stream_k(name, plan.tile, arguments, plan.stream_k_blocks, workspace, stream);
  if (!tile && plan.kernel == GemmPlan::Kernel::persistent)
    return launch_gemm_persistent(name, plan.tile, arguments, plan.config, workspace, stream);
  return launch_gemm_narrow(name, arguments, plan.config, workspace, stream);
}

}  // namespace rondo
