// The filter gradient: the choice of an algorithm, of a tile and of the parts of the sum.
// filter_gradient_kernel.cuh has the implicit GEMM.
#include <rondo/kernels/conv/conv_geometry.h>
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

// The kernel that computes the gradient, the number of parts of its sum over the pixels, and the workspace
// for the parts.
struct Plan {
  bool winograd = false, few_channels = false;
  GemmConfig config;
  int64_t workspace_bytes = 0;
};
Plan plan_of(const ConvGeometry& g, const Conv2dOptions& options, std::optional<TileId> tile, DType type) {
  Plan plan;
  if (g.k == 0 || g.patch == 0) return plan;
  plan.winograd = !tile && type == DType::float32 && winograd::wanted(g, options);
  plan.few_channels = !tile && !plan.winograd && has_few_channels(g);
  if (plan.winograd) {
    plan.config.splits = winograd::filter_gradient_parts(g);
    plan.workspace_bytes = winograd::filter_gradient_workspace_bytes(g);
    return plan;
  }
  if (plan.few_channels)
    plan.config.splits = few_channels_parts(g);
  else
    plan.config = split_k({g.patch, g.k, g.output_pixels});
  if (plan.config.splits > 1) plan.workspace_bytes = partials_bytes(g.patch, g.k, plan.config.splits);
  return plan;
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
  const Plan plan = plan_of(g, options, tile, dtype_of<T>);
  ArgumentCheck check(kName);
  check.output("dw", dw);
  check.input("dy", dy);
  check.input("x", x);
  check.workspace(workspace, plan.workspace_bytes);
  RONDO_RETURN_IF_ERROR(check.status());
  if (dw.size() == 0) return {};

  auto* parts = static_cast<float*>(workspace.data);
  const GemmConfig& config = plan.config;
  DeviceProperties device;
  RONDO_RETURN_IF_ERROR(device_properties(&device));
  if constexpr (std::is_same_v<T, float>) {
    if (plan.winograd)
      return winograd::filter_gradient(winograd::tile_kind(device), dw.data, dy.data, x.data, g,
                                       config.splits, parts, stream);
  }
  if (plan.few_channels)
    return few_channels_filter_gradient(dw.data, dy.data, x.data, g, config.splits, parts, stream);

  const bool split = config.splits > 1;
  FilterGradientParameters<T> p = {};
  p.geometry = g;
  p.x = x.data, p.dy = dy.data, p.dw = dw.data;
  p.x_width = copy_width(x.data, g.c, g.c);
  p.dy_width = copy_width(dy.data, g.k, g.k);
  p.pixels_per_split = split ? config.k_per_split : std::max<int64_t>(g.output_pixels, 1);
  if (split) p.partials = {parts, g.patch, g.k, config.splits};

  if (!tile) {
    TileNeeds needs = kPatchNeeds;
    needs.type = dtype_of<T>;
    needs.math = options.math;
    tile = choose_tile(g.patch, g.k, config.splits, needs, device);
    if constexpr (sizeof(T) == 2) {
      constexpr ConvOperation kOperation = ConvOperation::filter_gradient;
      if (wgmma_conv_fits(kOperation, dtype_of<T>, g, dy.data, x.data))
        if (const auto wgmma = choose_wgmma_conv_tile(kOperation, g, config.splits, *tile, device))
          return launch_filter_gradient_wgmma(kName, *wgmma, choose_wgmma_conv_pixels(kOperation, g), dw.data,
                                              dy.data, x.data, g, config.splits, parts, stream);
    }
  }
  RONDO_RETURN_IF_ERROR(launch_tile(kName, *tile, p, config.splits, stream));
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
    if (type == DType::float32 && g.images > 0 && options.math == Math::tf32)
      bytes.data_gradient += transposed_filter_bytes(g);
  }
  bytes.forward_sums = std::max(bytes.forward, conv_sums_workspace_bytes(g, type, options.math));
  bytes.filter_gradient = plan_of(g, options, std::nullopt, type).workspace_bytes;
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
