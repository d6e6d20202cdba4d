#include <rondo/kernels/gemm/gemm_with_plan.h>

#include <rondo/kernels/gemm/fma/gemm_fma.h>
#include <rondo/kernels/gemm/gemm_types.h>
#include <rondo/kernels/gemm/mma/gemm_mma.h>
#include <rondo/kernels/gemm/wgmma/gemm_wgmma.h>
#include <rondo/kernels/layout/transposed_copy.h>

#include <type_traits>

namespace rondo {
namespace {

// Replaces operands by copies that are contiguous along k, in the workspace behind the partial sums.
Status make_copies(GemmArguments& g, const GemmPlan& plan, const Workspace& workspace, cudaStream_t stream) {
  const TransposedCopies& copies = plan.copies;
  if (!copies.any()) return {};
  float* to = static_cast<float*>(workspace.data) + partial_sums_bytes({g.m, g.n, g.k}, plan) / 4;
  const int64_t stride = copy_stride(g.k);
  if (copies.b) {
    RONDO_RETURN_IF_ERROR(copy_transposed<float>("gemm_transposes_b", {to, 1, g.n, g.k, stride},
                                                 {g.b, 1, g.k, g.n, g.b_stride}, stream));
    g.b = to, g.b_stride = stride, g.transpose_b = true;
    to += transposed_copy_floats(g.n, g.k);
  }
  if (copies.a) {
    RONDO_RETURN_IF_ERROR(copy_transposed<float>("gemm_transposes_a", {to, 1, g.m, g.k, stride},
                                                 {g.a, 1, g.k, g.m, g.a_stride}, stream));
    g.a = to, g.a_stride = stride, g.transpose_a = false;
  }
  return {};
}

}  // namespace

template <class T, class C>
Status gemm_with_plan(const char* name, const GemmPlan& plan, GemmArgumentsOf<T, C> g, Workspace workspace,
                      cudaStream_t stream) {
  if (g.m == 0 || g.n == 0 || g.batches.count == 0) return {};
  if (plan.tile.arithmetic != g.arithmetic)
    return bad_argument(name, ": the tile is one of ", name_of(plan.tile.arithmetic), ", the product one of ",
                        name_of(g.arithmetic));
  if constexpr (std::is_same_v<T, float>) RONDO_RETURN_IF_ERROR(make_copies(g, plan, workspace, stream));
  if constexpr (std::is_same_v<T, float>)
    if (!uses_tensor_cores(g.arithmetic))
      return launch_gemm_fma<Arithmetic::fp32>(name, plan, g, workspace, stream);
  return with_tensor_arithmetic<T>(g.arithmetic, [&]<Arithmetic kArithmetic>() {
    if constexpr (kHasVectorTiles<kArithmetic>)
      if (plan.tile.instruction == Instruction::vector_fma)
        return launch_gemm_fma<kArithmetic>(name, plan, g, workspace, stream);
    return plan.tile.instruction == Instruction::wgmma
               ? launch_gemm_wgmma<kArithmetic>(name, plan, g, workspace, stream)
               : launch_gemm_mma<kArithmetic>(name, plan, g, workspace, stream);
  });
}

#define RONDO_GEMM(T, C)                                                                         \
  template Status gemm_with_plan(const char*, const GemmPlan&, GemmArgumentsOf<T, C>, Workspace, \
                                 cudaStream_t);
RONDO_FOR_GEMM_TYPES(RONDO_GEMM)
#undef RONDO_GEMM

}  // namespace rondo
