// The filter gradient as an implicit GEMM, by the kernel of the plan.
#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>

#include <rondo/kernels/conv/implicit_gemm/launchers.cuh>
#include <rondo/kernels/core/values.cuh>

#include <algorithm>
#include <type_traits>

namespace rondo {
namespace {

// The pixels of each part but the last: a multiple of 64, as in split_k().
int64_t pixels_of_part(int64_t pixels, int64_t parts) {
  return std::max<int64_t>(1, parts > 1 ? ceil_div<int64_t>(ceil_div(pixels, parts), 64) * 64 : pixels);
}

}  // namespace

template <class T>
Status run_implicit_gemm_filter_gradient(const char* name, const ImplicitGemmPlan& plan,
                                         const FilterGradient& to, const T* dy, const T* x,
                                         const ConvGeometry& g, int64_t splits, Workspace workspace,
                                         cudaStream_t stream) {
  auto* const partials = static_cast<float*>(workspace.data);
  if (plan.tile.instruction == Instruction::wgmma) {
    if constexpr (std::is_same_v<T, float>)
      return bad_argument(name, ": wgmma has no filter gradient of floats");
    else
      return launch_filter_gradient_wgmma<arithmetic_of(dtype_of<T>, Math::fp32)>(
          name, plan.tile, plan.pixels, to, dy, x, g, splits, partials, stream);
  }
  FilterGradientParameters<T> p = {};
  p.geometry = g;
  p.x = x, p.dy = dy, p.to = to;
  p.x_width = copy_width(x, g.c, g.c);
  p.dy_width = copy_width(dy, g.k, g.k);
  p.pixels_per_split = pixels_of_part(g.output_pixels, splits);
  const int64_t parts = std::max<int64_t>(1, ceil_div(g.output_pixels, p.pixels_per_split));
  if (parts > 1) p.partials = {partials, g.patch, g.k, parts};
  const auto launch = [&] {
    if constexpr (std::is_same_v<T, float>)
      if (!uses_tensor_cores(plan.tile.arithmetic))
        return launch_filter_gradient_fma<Arithmetic::fp32>(name, plan.tile, p, parts, stream);
    return with_tensor_arithmetic<T>(plan.tile.arithmetic, [&]<Arithmetic kArithmetic>() {
      if constexpr (kHasVectorTiles<kArithmetic>)
        if (plan.tile.instruction == Instruction::vector_fma)
          return launch_filter_gradient_fma<kArithmetic>(name, plan.tile, p, parts, stream);
      return launch_filter_gradient_mma<kArithmetic>(name, plan.tile, p, parts, stream);
    });
  };
  RONDO_RETURN_IF_ERROR(launch());
  return parts > 1 ? sum_partials(p.partials, to.dw, 1, g.patch, Epilogue{.beta = to.beta}, stream)
                   : Status();
}

#define RONDO_IMPLICIT_GEMM(T)                                                                 \
  template Status run_implicit_gemm_filter_gradient(const char*, const ImplicitGemmPlan&,      \
                                                    const FilterGradient&, const T*, const T*, \
                                                    const ConvGeometry&, int64_t, Workspace, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_IMPLICIT_GEMM)
#undef RONDO_IMPLICIT_GEMM

}  // namespace rondo
