// The convolutions by the kernel that conv_plan.h chooses.
#include <rondo/kernels/conv/conv2d.h>

#include <rondo/kernels/conv/conv_checks.h>
#include <rondo/kernels/conv/conv_plan.h>
#include <rondo/kernels/conv/direct/few_channels.h>
#include <rondo/kernels/conv/direct/grouped.h>
#include <rondo/kernels/conv/direct/image_vectors.h>
#include <rondo/kernels/conv/planned_conv.h>
#include <rondo/kernels/core/check.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/reduce/bias_gradient.h>

#include <algorithm>
#include <type_traits>

namespace rondo {
namespace {

// y with all of its epilogue but the sums. Sets `parts` to the number of parts in epilogue.moments: 0 if the
// kernel does not compute them.
template <class T>
Status forward(const ConvPlan& plan, T* y, const T* x, const T* filter, const ConvGeometry& g,
               const ConvEpilogue<T>& epilogue, Workspace workspace, int64_t* parts, cudaStream_t stream) {
  *parts = 0;
  if constexpr (std::is_same_v<T, float>) {
    if (plan.method == ConvMethod::winograd)
      return winograd::forward(plan.winograd_tile, y, x, filter, epilogue, g,
                               static_cast<float*>(workspace.data), stream);
    if (plan.method == ConvMethod::image_vectors)
      return conv2d_by_image_vectors("conv2d_forward", ConvOperation::forward, y, x, filter, epilogue, g,
                                     stream);
  }
  if (plan.method == ConvMethod::few_channels) return few_channels_forward(y, x, filter, epilogue, g, stream);
  if (plan.method == ConvMethod::grouped) return grouped_forward(y, x, filter, epilogue, g, stream);
  const ImplicitGemmArguments<T> arguments = {y, x, filter, epilogue, g, plan.splits};
  return run_implicit_gemm("conv2d_forward", ConvOperation::forward, plan.gemm, arguments, workspace, parts,
                           stream);
}

template <class T>
Status filter_gradient(const ConvPlan& plan, const FilterGradient& to, const T* dy, const T* x,
                       const ConvGeometry& g, Workspace workspace, cudaStream_t stream) {
  auto* const partials = static_cast<float*>(workspace.data);
  if constexpr (std::is_same_v<T, float>) {
    if (plan.method == ConvMethod::winograd)
      return winograd::filter_gradient(plan.winograd_tile, to, dy, x, g, plan.splits, partials, stream);
  }
  if (plan.method == ConvMethod::few_channels)
    return few_channels_filter_gradient(to, dy, x, g, plan.splits, partials, stream);
  if (plan.method == ConvMethod::grouped)
    return grouped_filter_gradient(to, dy, x, g, plan.splits, partials, stream);
  return run_implicit_gemm_filter_gradient("conv2d_filter_gradient", plan.gemm, to, dy, x, g, plan.splits,
                                           workspace, stream);
}

}  // namespace

template <class T>
Status conv2d_forward_with_plan(const ConvPlan* wanted, ImageView<T> y, ImageView<const T> x,
                                FilterView<const T> filter, const Conv2dOptions& options,
                                const Conv2dEpilogueOf<T>& epilogue, Workspace workspace,
                                cudaStream_t stream) {
  constexpr const char* kName = "conv2d_forward";
  const VectorView<const float>& bias = epilogue.bias;
  const VectorView<double>& sums = epilogue.sums;
  const ImageView<const T>& residual = epilogue.residual;
  ConvGeometry g;
  RONDO_RETURN_IF_ERROR(check_conv2d<T>({kName, "x", "y", "filter"}, x, y, filter, options, &g));
  const Arithmetic arithmetic = arithmetic_of(dtype_of<T>, options.math);
  const ConvProblem problem = {ConvOperation::forward, g, arithmetic, options.algorithm, x.data, filter.data};
  ArgumentCheck check(kName);
  check.output("y", y, {"residual"});
  check.input("x", x);
  check.input("filter", filter);
  check.optional_input("bias", bias);
  check.optional_input("residual", residual);
  check.optional_output("sums", sums);
  if (bias.data)
    check.require(bias.size == g.k, "bias has ", counted(bias.size, "element"),
                  ", must be the out_channels of filter, ", g.k);
  if (residual.data) check.same_shape("residual", residual, "y", y);
  if (sums.data) {
    check.require(sums.size == 2 * g.k, "sums has ", counted(sums.size, "element"),
                  ", must be 2 * out_channels = ", 2 * g.k);
    check.require(g.k <= kMostMomentColumns, "there are ", g.k, " out_channels, must be at most ",
                  kMostMomentColumns, " with sums");
  }
  check.workspace(workspace, std::max(workspace_bytes(problem, wanted),
                                      sums.data ? conv_sums_workspace_bytes(g, arithmetic) : 0));
  RONDO_RETURN_IF_ERROR(check.status());

  ConvEpilogue<T> of_kernel = {bias.data, residual.data, epilogue.relu};
  const int64_t most_parts = most_moment_parts(g, arithmetic);
  if (sums.data && most_parts > 0) of_kernel.moments = partial_moments(workspace, most_parts, g.k);
  ConvPlan plan;
  RONDO_RETURN_IF_ERROR(find_plan(kName, problem, wanted, &plan));
  if (of_kernel.moments.values && plan.gemm.tile.instruction == Instruction::wgmma &&
      wgmma_moment_parts(g, plan.gemm.pixels) > most_parts)
    return bad_argument(kName, ": the pixels of the plan have ", wgmma_moment_parts(g, plan.gemm.pixels),
                        " parts of sums, and the workspace has room for ", most_parts);
  int64_t parts = 0;
  RONDO_RETURN_IF_ERROR(
      forward<T>(plan, y.data, x.data, filter.data, g, of_kernel, workspace, &parts, stream));
  if (!sums.data) return {};
  if (parts > 0)
    return add_partial_moments("conv2d_sums", sums.data, of_kernel.moments, parts, workspace, stream);
  return add_moments("batch_norm_sums", sums.data, y.data, g.output_pixels, g.k, workspace, stream);
}

template <class T>
Status conv2d_data_gradient_with_plan(const ConvPlan* wanted, ImageView<T> dx, ImageView<const T> dy,
                                      FilterView<const T> filter, const Conv2dOptions& options,
                                      const Conv2dDataGradientEpilogue& epilogue, Workspace workspace,
                                      cudaStream_t stream) {
  return checked_data_gradient<T>({"conv2d_data_gradient", "dx", "dy", "filter"}, wanted, dx, dy, filter,
                                  options, {}, {.beta = epilogue.beta}, workspace, stream);
}

template <class T>
Status conv2d_filter_gradient_with_plan(const ConvPlan* wanted, FilterView<float> dw, ImageView<const T> dy,
                                        ImageView<const T> x, const Conv2dOptions& options,
                                        const Conv2dFilterGradientEpilogue& epilogue, Workspace workspace,
                                        cudaStream_t stream) {
  constexpr const char* kName = "conv2d_filter_gradient";
  const VectorView<float>& db = epilogue.bias_gradient;
  ConvGeometry g;
  RONDO_RETURN_IF_ERROR(check_conv2d<T>({kName, "x", "dy", "dw"}, x, dy, dw, options, &g));
  const ConvProblem problem = {ConvOperation::filter_gradient,
                               g,
                               arithmetic_of(dtype_of<T>, options.math),
                               options.algorithm,
                               dy.data,
                               x.data};
  ArgumentCheck check(kName);
  check.output("dw", dw);
  check.input("dy", dy);
  check.input("x", x);
  check.optional_output("bias_gradient", db);
  if (db.data) {
    check.require(db.size == g.k, "bias_gradient has ", counted(db.size, "element"),
                  ", must be the out_channels of dw, ", g.k);
    check.require(g.k <= kMostBiasColumns, "there are ", g.k, " out_channels, must be at most ",
                  kMostBiasColumns, " with bias_gradient");
  }
  check.workspace(workspace, !db.data ? workspace_bytes(problem, wanted)
                             : wanted ? bias_workspace_bytes(problem, *wanted)
                                      : bias_workspace_bytes(problem));
  RONDO_RETURN_IF_ERROR(check.status());

  bool needs_bias = db.data != nullptr;
  if (dw.size() > 0) {
    ConvPlan plan;
    RONDO_RETURN_IF_ERROR(find_plan(kName, problem, wanted, &plan));
    const bool has_bias = has_bias_gradient(plan.method);
    const FilterGradient to = {dw.data, epilogue.beta, has_bias ? db.data : nullptr};
    RONDO_RETURN_IF_ERROR(filter_gradient<T>(plan, to, dy.data, x.data, g, workspace, stream));
    needs_bias &= !has_bias;
  }
  if (!needs_bias) return {};
  return bias_gradient<const T>(db, {dy.data, g.output_pixels, g.k}, epilogue.beta, workspace, stream);
}

Conv2dWorkspaceBytes conv2d_workspace_bytes(const ImageView<const float>& x,
                                            const FilterView<const float>& filter,
                                            const Conv2dOptions& options, DType type) {
  ConvGeometry g;
  const auto [p, q] = conv2d_output_sides(x.height, x.width, filter.height, filter.width, options);
  const ImageView<const float> y = {nullptr, x.images, p, q, filter.out_channels};
  if (!check_conv2d_shapes({"conv2d_workspace_bytes", "x", "y", "filter"}, x, y, filter, options, &g).ok())
    return {};
  const Arithmetic arithmetic = arithmetic_of(type, options.math);
  const auto bytes_of = [&](ConvOperation operation) {
    return workspace_bytes({operation, g, arithmetic, options.algorithm});
  };
  Conv2dWorkspaceBytes bytes;
  bytes.forward = bytes_of(ConvOperation::forward);
  bytes.forward_sums = std::max(bytes.forward, conv_sums_workspace_bytes(g, arithmetic));
  bytes.data_gradient = bytes_of(ConvOperation::data_gradient);
  bytes.filter_gradient = bytes_of(ConvOperation::filter_gradient);
  bytes.filter_gradient_bias =
      bias_workspace_bytes({ConvOperation::filter_gradient, g, arithmetic, options.algorithm});
  return bytes;
}

#define RONDO_CONV2D(T)                                                                                 \
  template Status conv2d_forward_with_plan(const ConvPlan*, ImageView<T>, ImageView<const T>,           \
                                           FilterView<const T>, const Conv2dOptions&,                   \
                                           const Conv2dEpilogueOf<T>&, Workspace, cudaStream_t);        \
  template Status conv2d_data_gradient_with_plan(                                                       \
      const ConvPlan*, ImageView<T>, ImageView<const T>, FilterView<const T>, const Conv2dOptions&,     \
      const Conv2dDataGradientEpilogue&, Workspace, cudaStream_t);                                      \
  template Status conv2d_filter_gradient_with_plan(                                                     \
      const ConvPlan*, FilterView<float>, ImageView<const T>, ImageView<const T>, const Conv2dOptions&, \
      const Conv2dFilterGradientEpilogue&, Workspace, cudaStream_t);
RONDO_CONV2D(float)
RONDO_CONV2D(__nv_bfloat16)
RONDO_CONV2D(__half)
#undef RONDO_CONV2D

}  // namespace rondo
