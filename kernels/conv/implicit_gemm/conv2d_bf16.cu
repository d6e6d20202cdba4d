// The convolutions of __nv_bfloat16 images: the implicit GEMM with the tiles of bf16, for any number of
// channels.
#include <rondo/kernels/conv/conv_geometry.h>
#include <rondo/kernels/conv/implicit_gemm/conv2d_kernel.cuh>
#include <rondo/kernels/conv/implicit_gemm/filter_gradient_kernel.cuh>
#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>
#include <rondo/kernels/core/check.h>

#include <algorithm>

namespace rondo {
namespace {

using Bf16 = __nv_bfloat16;
using Product = NarrowProduct<Bf16>;

// check_conv2d_shapes() looks only at the shapes.
template <class T>
ImageView<const float> shape_of_image(const ImageView<T>& view) {
  return {nullptr, view.images, view.height, view.width, view.channels};
}
template <class T>
FilterView<const float> shape_of_filter(const FilterView<T>& view) {
  return {nullptr, view.out_channels, view.height, view.width, view.in_channels};
}

template <class X, class Y, class W>
Status check_shapes(const ConvNames& names, const ImageView<X>& x, const ImageView<Y>& y,
                    const FilterView<W>& filter, const Conv2dOptions& options, ConvGeometry* geometry) {
  const auto refuse = [&](const char* option, const char* value, const char* wanted) {
    return bad_argument(names.operation, ": ", option, " is ", value, ", must be ", wanted, " for bfloat16");
  };
  if (options.math != Math::fp32) return refuse("math", name_of(options.math), "fp32");
  if (options.algorithm == ConvAlgorithm::winograd)
    return refuse("algorithm", "winograd", "automatic or direct");
  RONDO_RETURN_IF_ERROR(check_factor_type(names.operation, DType::bfloat16));
  return check_conv2d_shapes(names, shape_of_image(x), shape_of_image(y), shape_of_filter(filter), options,
                             geometry);
}

template <Pass pass>
Status launch_conv2d(const char* name, std::optional<TileId> tile, Conv2dParameters<Bf16>& p,
                     cudaStream_t stream) {
  if (!prepare_conv2d<pass>(p)) return {};
  RONDO_RETURN_IF_ERROR(choose_conv2d_tile<pass>(&tile, p.geometry, DType::bfloat16, Math::fp32));
  return with_tensor_tile<Product>(
      *tile, [&]<class Tile>() { return launch_conv2d_tile<Tile, pass>(name, p, stream); });
}

// The parts of the sum over the pixels, and the bytes of the workspace for them: as conv2d_workspace_bytes().
struct Parts {
  GemmConfig config;
  int64_t bytes = 0;
};
Parts parts_of(const ConvGeometry& g) {
  Parts parts;
  if (g.k == 0 || g.patch == 0) return parts;
  parts.config = split_k({g.patch, g.k, g.output_pixels});
  if (parts.config.splits > 1) parts.bytes = partials_bytes(g.patch, g.k, parts.config.splits);
  return parts;
}

}  // namespace

Status conv2d_forward(std::optional<TileId> tile, ImageView<Bf16> y, ImageView<const Bf16> x,
                      FilterView<const Bf16> filter, const Conv2dOptions& options,
                      const Conv2dEpilogue& epilogue, Workspace workspace, cudaStream_t stream) {
  constexpr const char* kName = "conv2d_forward";
  const VectorView<const float>& bias = epilogue.bias;
  ConvGeometry g;
  RONDO_RETURN_IF_ERROR(check_shapes({kName, "x", "y", "filter"}, x, y, filter, options, &g));
  ArgumentCheck check(kName);
  check.output("y", y);
  check.input("x", x);
  check.input("filter", filter);
  check.optional_input("bias", bias);
  if (bias.data)
    check.require(bias.size == g.k, "bias has ", bias.size, " elements, must be the out_channels of filter, ",
                  g.k);
  check.workspace(workspace, 0);
  RONDO_RETURN_IF_ERROR(check.status());
  Conv2dParameters<Bf16> p = {};
  p.geometry = g;
  p.from = x.data, p.filter = filter.data, p.to = y.data;
  p.image_fastest = g.pad_h > 0 || g.pad_w > 0;
  p.epilogue.bias = bias.data;
  p.epilogue.relu = epilogue.relu;
  return launch_conv2d<Pass::forward>(kName, tile, p, stream);
}

Status conv2d_data_gradient(std::optional<TileId> tile, ImageView<Bf16> dx, ImageView<const Bf16> dy,
                            FilterView<const Bf16> filter, const Conv2dOptions& options, Workspace workspace,
                            cudaStream_t stream) {
  constexpr const char* kName = "conv2d_data_gradient";
  ConvGeometry g;
  RONDO_RETURN_IF_ERROR(check_shapes({kName, "dx", "dy", "filter"}, dx, dy, filter, options, &g));
  ArgumentCheck check(kName);
  check.output("dx", dx);
  check.input("dy", dy);
  check.input("filter", filter);
  check.workspace(workspace, 0);
  RONDO_RETURN_IF_ERROR(check.status());
  Conv2dParameters<Bf16> p = {};
  p.geometry = g;
  p.from = dy.data, p.filter = filter.data, p.to = dx.data;
  p.image_fastest = true;
  return launch_conv2d<Pass::backward>(kName, tile, p, stream);
}

Status conv2d_filter_gradient(std::optional<TileId> tile, FilterView<float> dw, ImageView<const Bf16> dy,
                              ImageView<const Bf16> x, const Conv2dOptions& options, Workspace workspace,
                              cudaStream_t stream) {
  constexpr const char* kName = "conv2d_filter_gradient";
  ConvGeometry g;
  RONDO_RETURN_IF_ERROR(check_shapes({kName, "x", "dy", "dw"}, x, dy, dw, options, &g));
  const auto [config, bytes] = parts_of(g);
  ArgumentCheck check(kName);
  check.output("dw", dw);
  check.input("dy", dy);
  check.input("x", x);
  check.workspace(workspace, bytes);
  RONDO_RETURN_IF_ERROR(check.status());
  if (dw.size() == 0) return {};
  if (!tile) {
    DeviceFacts device;
    RONDO_RETURN_IF_ERROR(device_facts(&device));
    TileNeeds needs = kPatchNeeds;
    needs.type = DType::bfloat16;
    tile = choose_tile(g.patch, g.k, config.splits, needs, device);
  }
  const bool split = config.splits > 1;
  const int64_t splits = config.splits;
  FilterGradientParameters<Bf16> p = {};
  p.geometry = g;
  p.x = x.data, p.dy = dy.data, p.dw = dw.data;
  p.x_width = copy_width(x.data, g.c, g.c);
  p.dy_width = copy_width(dy.data, g.k, g.k);
  p.pixels_per_split = split ? config.k_per_split : std::max<int64_t>(g.output_pixels, 1);
  if (split) p.partials = {static_cast<float*>(workspace.data), g.patch, g.k, splits};
  RONDO_RETURN_IF_ERROR(with_tensor_tile<Product>(
      *tile, [&]<class Tile>() { return launch_filter_gradient_tile<Tile>(kName, p, splits, stream); }));
  return split ? sum_partials(p.partials, dw.data, 1, g.patch, Epilogue{}, stream) : Status();
}

Status conv2d_forward(ImageView<Bf16> y, ImageView<const Bf16> x, FilterView<const Bf16> filter,
                      const Conv2dOptions& options, const Conv2dEpilogue& epilogue, Workspace workspace,
                      cudaStream_t stream) {
  return conv2d_forward(std::nullopt, y, x, filter, options, epilogue, workspace, stream);
}

Status conv2d_data_gradient(ImageView<Bf16> dx, ImageView<const Bf16> dy, FilterView<const Bf16> filter,
                            const Conv2dOptions& options, Workspace workspace, cudaStream_t stream) {
  return conv2d_data_gradient(std::nullopt, dx, dy, filter, options, workspace, stream);
}

Status conv2d_filter_gradient(FilterView<float> dw, ImageView<const Bf16> dy, ImageView<const Bf16> x,
                              const Conv2dOptions& options, Workspace workspace, cudaStream_t stream) {
  return conv2d_filter_gradient(std::nullopt, dw, dy, x, options, workspace, stream);
}

}  // namespace rondo
