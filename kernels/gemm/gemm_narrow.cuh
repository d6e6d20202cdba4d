// gemm() of 16-bit matrices. Tests pass a tile of the pipelined kernel.
#pragma once

#include <rondo/kernels/gemm/gemm_plan.h>
#include <rondo/kernels/gemm/gemm_with_tile.h>
#include <rondo/kernels/gemm/tensor_ladder/gemm_tc_07_persistent.h>
#include <rondo/kernels/gemm/tensor_ladder/gemm_tc_09_stream_k.h>
#include <rondo/kernels/gemm/gemm_pipelined.cuh>

namespace rondo {

template <class T, class C>
Status gemm_with_tile(const char* name, std::optional<TileId> tile, MatrixView<C> c, MatrixView<const T> a,
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
  if (arguments.m == 0 || arguments.n == 0) return {};
  return with_tensor_tile<NarrowProduct<T>>(plan.config.tile, [&]<class Tile>() {
    return launch_pipelined<Tile>(name, arguments, plan.config, workspace, stream);
  });
}

// gemm() and gemm_with_tile() of T matrices with the result in C.
#define RONDO_GEMM(T, C)                                                                                 \
  template Status gemm_with_tile(const char*, std::optional<TileId>, MatrixView<C>, MatrixView<const T>, \
                                 MatrixView<const T>, const GemmOptions&, Workspace, cudaStream_t);      \
  Status gemm(MatrixView<C> c, MatrixView<const T> a, MatrixView<const T> b, const GemmOptions& options, \
              Workspace workspace, cudaStream_t stream) {                                                \
    return gemm_with_tile("gemm", {}, c, a, b, options, workspace, stream);                              \
  }

}  // namespace rondo
