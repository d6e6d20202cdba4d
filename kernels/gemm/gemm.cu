#include <rondo/kernels/gemm/gemm.h>

#include <rondo/kernels/gemm/gemm_config.h>
#include <rondo/kernels/gemm/gemm_plan.h>
#include <rondo/kernels/gemm/gemm_with_plan.h>
#include <rondo/kernels/gemm/ladder/gemm_06_pipelined.h>
#include <rondo/kernels/gemm/tensor_ladder/gemm_tc_07_persistent.h>
#include <rondo/kernels/gemm/tensor_ladder/gemm_tc_09_stream_k.h>
#include <rondo/kernels/gemm/transposed_copy.h>
#include <rondo/kernels/gemm/split_k.cuh>

namespace rondo {
namespace {

// Of the partial sums.
int64_t partial_bytes(const GemmShape& shape, const GemmPlan& plan) {
  if (plan.stream_k_blocks > 0) return stream_k_workspace_bytes(plan.tile, plan.stream_k_blocks);
  const int64_t splits = split_k(shape).splits;
  return splits > 1 ? partials_bytes(shape.m, shape.n, splits) : 0;
}
// Of outer rows, with copy_stride(k) for every k.
int64_t copy_floats(int64_t outer, int64_t k) {
  return saturating_product({outer, ceil_div<int64_t>(k, 4), 4});
}

// Replaces operands by copies that are contiguous along k, in the workspace behind the partial sums.
Status make_copies(GemmArguments& g, const GemmPlan& plan, const Workspace& workspace, cudaStream_t stream) {
  const TransposedCopies& copies = plan.copies;
  float* to = static_cast<float*>(workspace.data) + partial_bytes({g.m, g.n, g.k}, plan) / 4;
  const int64_t stride = copy_stride(g.k);
  if (copies.b) {
    RONDO_RETURN_IF_ERROR(
        copy_transposed("gemm_transposes_b", {to, g.b, g.k, g.n, stride, g.b_stride}, stream));
    g.b = to, g.b_stride = stride, g.transpose_b = true;
    to += copy_floats(g.n, g.k);
  }
  if (copies.a) {
    RONDO_RETURN_IF_ERROR(
        copy_transposed("gemm_transposes_a", {to, g.a, g.k, g.m, stride, g.a_stride}, stream));
    g.a = to, g.a_stride = stride, g.transpose_a = false;
  }
  return {};
}

}  // namespace

int64_t workspace_bytes(const GemmShape& shape, const GemmPlan& plan) {
  int64_t bytes = partial_bytes(shape, plan);
  for (const int64_t outer : {plan.copies.a ? shape.m : 0, plan.copies.b ? shape.n : 0}) {
    const int64_t more = saturating_product({copy_floats(outer, shape.k), sizeof(float)});
    bytes = bytes > INT64_MAX - more ? INT64_MAX : bytes + more;
  }
  return bytes;
}

int64_t gemm_workspace_bytes(const GemmShape& shape, const GemmOptions& options, DType type) {
  const Order a = options.transpose_a ? Order::mn_major : Order::k_major,
              b = options.transpose_b ? Order::k_major : Order::mn_major;
  const std::optional<WgmmaTileId> divided = stream_k_tile(shape, a, b, type, options.math);
  GemmPlan most;
  most.copies = copies_for_wgmma(shape, a, b, type, options.math);
  if (divided) most.tile = *divided, most.stream_k_blocks = kStreamKBlocks;
  return workspace_bytes(shape, most);
}

Status gemm_with_plan(const char* name, const GemmPlan& plan, GemmArguments arguments, Workspace workspace,
                      cudaStream_t stream) {
  RONDO_RETURN_IF_ERROR(make_copies(arguments, plan, workspace, stream));
  if (plan.kernel == GemmPlan::Kernel::pipelined)
    return launch_gemm_06(name, arguments, plan.config, workspace, stream);
  if (arguments.math == Math::tf32x3)
    return launch_gemm_persistent_tf32x3(name, arguments, plan.config, workspace, stream);
  if (plan.stream_k_blocks > 0)
    return launch_gemm_stream_k(name, plan.tile, arguments, plan.stream_k_blocks, workspace, stream);
  return launch_gemm_persistent(name, plan.tile, arguments, plan.config, workspace, stream);
}

Status gemm(MatrixView<float> c, MatrixView<const float> a, MatrixView<const float> b,
            const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  constexpr const char* kName = "gemm";
  GemmArguments arguments;
  RONDO_RETURN_IF_ERROR(check_gemm(kName, GemmWorkspace::all, c, a, b, options, workspace, &arguments));
  DeviceProperties device;
  RONDO_RETURN_IF_ERROR(device_properties(&device));
  RONDO_RETURN_IF_ERROR(check_math(kName, options.math));
  return gemm_with_plan(kName, choose_gemm_plan(problem_of(arguments), device), arguments, workspace, stream);
}

}  // namespace rondo
