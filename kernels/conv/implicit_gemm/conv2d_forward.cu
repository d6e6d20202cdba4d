// Forward convolution and data gradient: the choice of an algorithm and of a tile. conv2d_kernel.cuh has the
// implicit GEMM.
#include <rondo/kernels/conv/conv_geometry.h>
#include <rondo/kernels/conv/direct/few_channels.h>
#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>
#include <rondo/kernels/conv/winograd/winograd.h>
#include <rondo/kernels/core/check.h>
#include <rondo/kernels/gemm/gemm_config.h>
#include <rondo/kernels/conv/implicit_gemm/conv2d_kernel.cuh>

namespace rondo {
namespace {

template <Pass pass>
Status launch_conv2d(const char* name, std::optional<TileId> tile, Math math, Conv2dParameters<float>& p,
                     cudaStream_t stream) {
  if (!prepare_conv2d<pass>(p)) return {};
  RONDO_RETURN_IF_ERROR(choose_conv2d_tile<pass>(&tile, p.geometry, DType::float32, math));
  switch (tile_facts()[static_cast<size_t>(*tile)].math) {
    case Math::tf32:
      return launch_conv2d_tf32(name, pass, *tile, p, stream);
    case Math::tf32x3:
      return launch_conv2d_tf32x3(name, pass, *tile, p, stream);
    case Math::fp32:
      break;
  }
  return with_tile(*tile, [&]<class Tile>() { return launch_conv2d_tile<Tile, pass>(name, p, stream); });
}

}  // namespace

Status conv2d_forward(std::optional<TileId> tile, ImageView<float> y, ImageView<const float> x,
                      FilterView<const float> filter, const Conv2dOptions& options,
                      const Conv2dEpilogue& epilogue, Workspace workspace, cudaStream_t stream) {
  constexpr const char* kName = "conv2d_forward";
  const VectorView<const float>& bias = epilogue.bias;
  ConvGeometry g;
  RONDO_RETURN_IF_ERROR(check_math(kName, options.math));
  RONDO_RETURN_IF_ERROR(check_conv2d_shapes({kName, "x", "y", "filter"}, x, y, filter, options, &g));
  const bool by_winograd = !tile && y.size() > 0 && winograd::wanted(g, options);
  ArgumentCheck check(kName);
  check.output("y", y);
  check.input("x", x);
  check.input("filter", filter);
  check.optional_input("bias", bias);
  if (bias.data)
    check.require(bias.size == g.k, "bias has ", bias.size, " elements, must be the out_channels of filter, ",
                  g.k);
  check.workspace(workspace, by_winograd ? winograd::workspace_bytes(g) : 0);
  RONDO_RETURN_IF_ERROR(check.status());

  if (by_winograd) {
    DeviceFacts device;
    RONDO_RETURN_IF_ERROR(device_facts(&device));
    return winograd::forward(winograd::tile_kind(device), y.data, x.data, filter.data, bias.data,
                             epilogue.relu, g, static_cast<float*>(workspace.data), stream);
  }
  if (!tile && y.size() > 0 && has_few_channels(g))
    return few_channels_forward(y.data, x.data, filter.data, bias.data, epilogue.relu, g, stream);
  Conv2dParameters<float> p = {};
  p.geometry = g;
  p.from = x.data, p.filter = filter.data, p.to = y.data;
  p.image_fastest = g.pad_h > 0 || g.pad_w > 0;
  p.epilogue.bias = bias.data;
  p.epilogue.relu = epilogue.relu;
  return launch_conv2d<Pass::forward>(kName, tile, options.math, p, stream);
}

Status conv2d_data_gradient(std::optional<TileId> tile, ImageView<float> dx, ImageView<const float> dy,
                            FilterView<const float> filter, const Conv2dOptions& options, Workspace workspace,
                            cudaStream_t stream) {
  constexpr const char* kName = "conv2d_data_gradient";
  ConvGeometry g;
  RONDO_RETURN_IF_ERROR(check_math(kName, options.math));
  RONDO_RETURN_IF_ERROR(check_conv2d_shapes({kName, "dx", "dy", "filter"}, dx, dy, filter, options, &g));
  const bool by_winograd = !tile && dx.size() > 0 && winograd::wanted(g, options);
  ArgumentCheck check(kName);
  check.output("dx", dx);
  check.input("dy", dy);
  check.input("filter", filter);
  check.workspace(workspace, by_winograd ? winograd::workspace_bytes(g) : 0);
  RONDO_RETURN_IF_ERROR(check.status());

  if (by_winograd) {
    DeviceFacts device;
    RONDO_RETURN_IF_ERROR(device_facts(&device));
    return winograd::data_gradient(winograd::tile_kind(device), dx.data, dy.data, filter.data, g,
                                   static_cast<float*>(workspace.data), stream);
  }
  Conv2dParameters<float> p = {};
  p.geometry = g;
  p.from = dy.data, p.filter = filter.data, p.to = dx.data;
  p.image_fastest = true;
  return launch_conv2d<Pass::backward>(kName, tile, options.math, p, stream);
}

Status conv2d_forward(ImageView<float> y, ImageView<const float> x, FilterView<const float> filter,
                      const Conv2dOptions& options, const Conv2dEpilogue& epilogue, Workspace workspace,
                      cudaStream_t stream) {
  return conv2d_forward(std::nullopt, y, x, filter, options, epilogue, workspace, stream);
}

Status conv2d_data_gradient(ImageView<float> dx, ImageView<const float> dy, FilterView<const float> filter,
                            const Conv2dOptions& options, Workspace workspace, cudaStream_t stream) {
  return conv2d_data_gradient(std::nullopt, dx, dy, filter, options, workspace, stream);
}

}  // namespace rondo
