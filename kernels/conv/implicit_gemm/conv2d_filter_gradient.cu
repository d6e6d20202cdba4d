// The filter gradient by the kernel that conv_plan.h chooses. filter_gradient_kernel.cuh has the implicit
// GEMM.
#include <rondo/kernels/conv/conv_geometry.h>
#include <rondo/kernels/conv/conv_plan.h>
#include <rondo/kernels/conv/direct/few_channels.h>
#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>
#include <rondo/kernels/conv/implicit_gemm/wgmma_conv.h>
#include <rondo/kernels/conv/winograd/winograd.h>
#include <rondo/kernels/core/check.h>
#include <rondo/kernels/gemm/gemm_config.h>
#include <rondo/kernels/conv/implicit_gemm/filter_gradient_kernel.cuh>
#include <rondo/kernels/core/values.cuh>

#include <algorithm>
#include <type_traits>

namespace rondo {
namespace {

ConvProblem gradient_problem(const ConvGeometry& g, const Conv2dOptions& options, DType type,
                             const void* dy = nullptr, const void* x = nullptr) {
  return {ConvOperation::filter_gradient, g, type, options.math, options.algorithm, dy, x};
}

// The workspace for the parts of the sum over the pixels. `tile`: as in implicit_gemm.h.
int64_t parts_bytes(const ConvProblem& problem, const std::optional<TileId>& tile) {
  const ConvGeometry& g = problem.geometry;
  if (!tile && choose_conv_method(problem) == ConvMethod::winograd)
    return winograd::filter_gradient_workspace_bytes(g);
  return conv2d_partials_bytes(problem.operation, g,
                               tile ? conv2d_splits(problem.operation, g) : conv_parts(problem));
}

Status launch_tile(const char* name, TileId tile, FilterGradientParameters<float>& p, int64_t splits,
                   cudaStream_t stream) {
  switch (tile_infos()[static_cast<size_t>(tile)].math) {
    case Math::tf32:
      return launch_filter_gradient_tf32(name, tile, p, splits, stream);
    case Math::tf32x3:
      return launch_filter_gradient_tf32x3(name, tile, p, splits, stream);
    case Math::fp32:
      break;
  }
  return with_tile(tile,
                   [&]<class Tile>() { return launch_filter_gradient_tile<Tile>(name, p, splits, stream); });
}
template <class T>
Status launch_tile(const char* name, TileId tile, FilterGradientParameters<T>& p, int64_t splits,
                   cudaStream_t stream) {
  return launch_filter_gradient_narrow(name, tile, p, splits, stream);
}

template <class T>
Status filter_gradient(std::optional<TileId> tile, const FilterView<float>& dw, const ImageView<const T>& dy,
                       const ImageView<const T>& x, const Conv2dOptions& options, Workspace workspace,
                       cudaStream_t stream) {
  constexpr const char* kName = "conv2d_filter_gradient";
  ConvGeometry g;
  RONDO_RETURN_IF_ERROR(check_conv2d<T>({kName, "x", "dy", "dw"}, x, dy, dw, options, &g));
  const ConvProblem problem = gradient_problem(g, options, dtype_of<T>, dy.data, x.data);
  ArgumentCheck check(kName);
  check.output("dw", dw);
  check.input("dy", dy);
  check.input("x", x);
  check.workspace(workspace, parts_bytes(problem, tile));
  RONDO_RETURN_IF_ERROR(check.status());
  if (dw.size() == 0) return {};

  auto* const parts = static_cast<float*>(workspace.data);
  DeviceProperties device;
  RONDO_RETURN_IF_ERROR(device_properties(&device));
  const ConvPlan plan = tile ? ConvPlan{.splits = conv2d_splits(problem.operation, g), .tile = *tile}
                             : choose_conv_plan(problem, device);
  if constexpr (std::is_same_v<T, float>) {
    if (plan.method == ConvMethod::winograd)
      return winograd::filter_gradient(plan.winograd_tile, dw.data, dy.data, x.data, g, plan.splits, parts,
                                       stream);
  }
  if (plan.method == ConvMethod::few_channels)
    return few_channels_filter_gradient(dw.data, dy.data, x.data, g, plan.splits, parts, stream);
  if constexpr (sizeof(T) == 2) {
    if (plan.wgmma_tile)
      return launch_filter_gradient_wgmma(kName, *plan.wgmma_tile, plan.pixels, dw.data, dy.data, x.data, g,
                                          plan.splits, parts, stream);
  }

  const bool split = plan.splits > 1;
  FilterGradientParameters<T> p = {};
  p.geometry = g;
  p.x = x.data, p.dy = dy.data, p.dw = dw.data;
  p.x_width = copy_width(x.data, g.c, g.c);
  p.dy_width = copy_width(dy.data, g.k, g.k);
  p.pixels_per_split = split ? split_k(conv2d_product(problem.operation, g)).k_per_split
                             : std::max<int64_t>(g.output_pixels, 1);
  if (split) p.partials = {parts, g.patch, g.k, plan.splits};
  RONDO_RETURN_IF_ERROR(launch_tile(kName, plan.tile, p, plan.splits, stream));
  return split ? sum_partials(p.partials, dw.data, 1, g.patch, Epilogue{}, stream) : Status();
}

}  // namespace

Conv2dWorkspaceBytes conv2d_workspace_bytes(const ImageView<const float>& x,
                                            const FilterView<const float>& filter,
                                            const Conv2dOptions& options, DType type) {
  ConvGeometry g;
  const ImageView<const float> y = {
      nullptr, x.images, conv2d_output_size(x.height, filter.height, options.stride_h, options.pad_h),
      conv2d_output_size(x.width, filter.width, options.stride_w, options.pad_w), filter.out_channels};
  if (!check_conv2d_shapes({"conv2d_workspace_bytes", "x", "y", "filter"}, x, y, filter, options, &g).ok())
    return {};
  Conv2dWorkspaceBytes bytes;
  if (type == DType::float32 && g.images > 0 && winograd::wanted(g, options)) {
    bytes.forward = bytes.data_gradient = winograd::workspace_bytes(g);
  } else {
    bytes.forward = conv2d_partials_bytes(ConvOperation::forward, g, std::nullopt);
    bytes.data_gradient = conv2d_partials_bytes(ConvOperation::data_gradient, g, std::nullopt);
    bytes.data_gradient += transposed_filter_bytes(g, type, options.math);
  }
  bytes.forward_sums = std::max(bytes.forward, conv_sums_workspace_bytes(g, type, options.math));
  bytes.filter_gradient = parts_bytes(gradient_problem(g, options, type), std::nullopt);
  return bytes;
}

// The functions of implicit_gemm.h and of conv2d.h.
#define RONDO_CONV2D(T)                                                                                   \
  Status conv2d_filter_gradient(std::optional<TileId> tile, FilterView<float> dw, ImageView<const T> dy,  \
                                ImageView<const T> x, const Conv2dOptions& options, Workspace workspace,  \
                                cudaStream_t stream) {                                                    \
    return filter_gradient<T>(tile, dw, dy, x, options, workspace, stream);                               \
  }                                                                                                       \
  Status conv2d_filter_gradient(FilterView<float> dw, ImageView<const T> dy, ImageView<const T> x,        \
                                const Conv2dOptions& options, Workspace workspace, cudaStream_t stream) { \
    return filter_gradient<T>(std::nullopt, dw, dy, x, options, workspace, stream);                       \
  }
RONDO_FOR_VALUE_TYPES(RONDO_CONV2D)
#undef RONDO_CONV2D

}  // namespace rondo
