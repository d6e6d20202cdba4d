#include <rondo/kernels/gemm/gemm.h>

#include <rondo/kernels/gemm/gemm_06_pipelined.h>
#include <rondo/kernels/gemm/gemm_config.h>
#include <rondo/kernels/gemm/gemm_plan.h>
#include <rondo/kernels/gemm/gemm_tc_07_persistent.h>
#include <rondo/kernels/gemm/split_k.cuh>

namespace rondo {

Status gemm(MatrixView<float> c, MatrixView<const float> a, MatrixView<const float> b,
            const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  GemmArguments arguments;
  RONDO_RETURN_IF_ERROR(check_gemm("gemm", SplitsK::yes, c, a, b, options, workspace, &arguments));
  DeviceFacts device;
  RONDO_RETURN_IF_ERROR(device_facts(&device));
  RONDO_RETURN_IF_ERROR(check_math("gemm", options.math));
  const GemmPlan plan = choose_gemm_plan(facts_of(arguments), device);
  if (plan.kernel == GemmPlan::Kernel::persistent && options.math == Math::tf32x3)
    return launch_gemm_persistent_tf32x3("gemm", arguments, plan.config, workspace, stream);
  if (plan.kernel == GemmPlan::Kernel::persistent)
    return launch_gemm_persistent("gemm", plan.tile, arguments, plan.config, workspace, stream);
  return launch_gemm_06("gemm", arguments, plan.config, workspace, stream);
}

int64_t gemm_workspace_bytes(const GemmShape& shape) {
  const int64_t splits = split_k(shape).splits;
  return splits > 1 ? partials_bytes(shape.m, shape.n, splits) : 0;
}

}  // namespace rondo
