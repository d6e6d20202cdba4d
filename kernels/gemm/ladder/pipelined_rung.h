// The rungs that are the pipelined kernel: gemm_06_pipelined and gemm_tc_04_pipelined.
#pragma once

#include <rondo/kernels/gemm/gemm_with_plan.h>

namespace rondo {

// gemm() with the tile 128x128, or 64x64 if a block has too little shared memory. `name` is the first word of
// the messages.
template <class T>
Status run_pipelined_rung(const char* name, MatrixView<T> c, MatrixView<const T> a, MatrixView<const T> b,
                          const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  const auto workspace_bytes = [](const GemmShape& shape, const GemmOptions&, DType) {
    return split_k_workspace_bytes(shape);
  };
  GemmArgumentsOf<T> arguments;
  RONDO_RETURN_IF_ERROR(check_gemm(name, +workspace_bytes, c, a, b, options, workspace, &arguments));
  DeviceProperties device;
  RONDO_RETURN_IF_ERROR(device_properties(&device));
  const Arithmetic arithmetic = arguments.arithmetic;
  GemmPlan plan;
  plan.tile =
      TileId{uses_tensor_cores(arithmetic) ? Instruction::mma : Instruction::fma, arithmetic, 128, 128};
  plan.parts = split_k({arguments.m, arguments.n, arguments.k});
  const TileNeeds needs = {problem_of(arguments).a.order};
  if (shared_bytes(tile_info(plan.tile), needs) > device.shared_bytes_per_block)
    plan.tile.m = plan.tile.n = 64;
  return gemm_with_plan(name, plan, arguments, workspace, stream);
}

}  // namespace rondo
