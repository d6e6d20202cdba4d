// Forward convolution and data gradient by the kernel that conv_plan.h chooses. conv2d_kernel.cuh has the
// implicit GEMM.
#include <rondo/kernels/conv/conv_geometry.h>
#include <rondo/kernels/conv/conv_plan.h>
#include <rondo/kernels/conv/direct/few_channels.h>
#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>
#include <rondo/kernels/conv/implicit_gemm/wgmma_conv.h>
#include <rondo/kernels/conv/winograd/winograd.h>
#include <rondo/kernels/core/check.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/gemm/gemm_config.h>
#include <rondo/kernels/conv/implicit_gemm/conv2d_kernel.cuh>
#include <rondo/kernels/core/values.cuh>

#include <type_traits>

namespace rondo {
namespace {

Status launch_tile(const char* name, ConvOperation operation, TileId tile, Conv2dParameters<float>& p,
                   cudaStream_t stream) {
  switch (tile_infos()[static_cast<size_t>(tile)].math) {
    case Math::tf32:
      return launch_conv2d_tf32(name, operation, tile, p, stream);
    case Math::tf32x3:
      return launch_conv2d_tf32x3(name, operation, tile, p, stream);
    case Math::fp32:
      break;
  }
  return with_tile(tile, [&]<class Tile>() {
    return operation == ConvOperation::forward
               ? launch_conv2d_tile<Tile, ConvOperation::forward>(name, p, stream)
               : launch_conv2d_tile<Tile, ConvOperation::data_gradient>(name, p, stream);
  });
}
template <class T>
Status launch_tile(const char* name, ConvOperation operation, TileId tile, Conv2dParameters<T>& p,
                   cudaStream_t stream) {
  return launch_conv2d_narrow(name, operation, tile, p, stream);
}

// The same, and sets the number of parts in p.moments.
template <class T>
Status launch_tile(const char* name, ConvOperation operation, TileId tile, Conv2dParameters<T>& p,
                   int64_t* parts, cudaStream_t stream) {
  const TileInfo& info = tile_infos()[static_cast<size_t>(tile)];
  const bool tensor = info.math != Math::fp32 || info.type != DType::float32;
  *parts = p.moments.values && tensor ? ceil_div<int64_t>(p.geometry.output_pixels, kMomentRows) : 0;
  return launch_tile(name, operation, tile, p, stream);
}

// `epilogue`: for y. `workspace`: the partial sums, and after them the transposed filter of a data gradient
// of floats. Sets `parts` to the number of parts in epilogue.moments: 0 if the kernel does not compute them.
template <ConvOperation operation, class T>
Status implicit_gemm(const char* name, const ConvPlan& plan, Conv2dParameters<T>& p,
                     const ConvEpilogue<T>& epilogue, Workspace workspace, int64_t* parts,
                     cudaStream_t stream) {
  *parts = 0;
  const ConvGeometry& g = p.geometry;
  const GemmShape product = conv2d_product(operation, g);
  auto* const partials = static_cast<float*>(workspace.data);
  if (plan.splits > 1)
    p.partials = {partials, product.m, product.n, plan.splits};
  else
    p.moments = epilogue.moments;
  if (!prepare_conv2d<operation>(p, epilogue)) return {};
  if (plan.wgmma_tile) {
    const T* filter = p.filter;
    if constexpr (std::is_same_v<T, float>) {
      if (plan.transposed_filter) {
        float* const transposed = partials + conv2d_partials_bytes(operation, g, plan.splits) / 4;
        RONDO_RETURN_IF_ERROR(transpose_filter(transposed, filter, g, stream));
        filter = transposed;
      }
    }
    if (p.moments.values) *parts = wgmma_moment_parts(g, plan.pixels);
    return launch_conv2d_wgmma<T>(name, plan.math, operation, *plan.wgmma_tile, plan.pixels,
                                  {p.to, p.from, filter, epilogue, g, plan.splits, partials}, stream);
  }
  RONDO_RETURN_IF_ERROR(launch_tile(name, operation, plan.tile, p, parts, stream));
  if (plan.splits <= 1) return {};
  return sum_partials(p.partials, p.to, product.n, 1, tile_epilogue<4>(epilogue, p.to, product.n), stream);
}

// Of y or dx. With a tile, an implicit GEMM with that tile.
Status plan_for_device(const ConvProblem& problem, const std::optional<ConvTile>& tile, ConvPlan* plan) {
  if (tile) {
    *plan = ConvPlan{.splits = tile->splits, .tile = tile->id};
    return {};
  }
  DeviceProperties device;
  RONDO_RETURN_IF_ERROR(device_properties(&device));
  *plan = choose_conv_plan(problem, device);
  return {};
}

// Whether tensor cores may compute y.
bool in_tensor_cores(DType type, Math math) { return type != DType::float32 || math != Math::fp32; }

// The most parts of the moments of y. Kernels that compute partial sums of y compute none.
int64_t most_moment_parts(const ConvGeometry& g, DType type, Math math) {
  if (!in_tensor_cores(type, math) || g.output_pixels == 0) return 0;
  if (conv2d_splits(ConvOperation::forward, g) > 1) return 0;
  const int64_t by_mma = ceil_div<int64_t>(g.output_pixels, kMomentRows);
  const WgmmaConvPixels pixels = choose_wgmma_conv_pixels(ConvOperation::forward, g);
  return std::max(by_mma, wgmma_moment_parts(g, pixels));
}

// y with all of its epilogue but the sums; sets `parts` as implicit_gemm().
template <class T>
Status forward(const ConvPlan& plan, T* y, const T* x, const T* filter, const ConvGeometry& g,
               const ConvEpilogue<T>& epilogue, Workspace workspace, int64_t* parts, cudaStream_t stream) {
  *parts = 0;
  if constexpr (std::is_same_v<T, float>) {
    if (plan.method == ConvMethod::winograd)
      return winograd::forward(plan.winograd_tile, y, x, filter, epilogue, g,
                               static_cast<float*>(workspace.data), stream);
  }
  if (plan.method == ConvMethod::few_channels) return few_channels_forward(y, x, filter, epilogue, g, stream);
  Conv2dParameters<T> p = {};
  p.geometry = g;
  p.from = x, p.filter = filter, p.to = y;
  p.image_fastest = g.pad_h > 0 || g.pad_w > 0;
  return implicit_gemm<ConvOperation::forward>("conv2d_forward", plan, p, epilogue, workspace, parts, stream);
}

template <class T>
Status forward(const std::optional<ConvTile>& tile, const ImageView<T>& y, const ImageView<const T>& x,
               const FilterView<const T>& filter, const Conv2dOptions& options,
               const Conv2dEpilogueOf<T>& epilogue, Workspace workspace, cudaStream_t stream) {
  constexpr const char* kName = "conv2d_forward";
  const VectorView<const float>& bias = epilogue.bias;
  const VectorView<double>& sums = epilogue.sums;
  const ImageView<const T>& residual = epilogue.residual;
  ConvGeometry g;
  RONDO_RETURN_IF_ERROR(check_conv2d<T>({kName, "x", "y", "filter"}, x, y, filter, options, &g));
  const ConvProblem problem = {ConvOperation::forward, g,      dtype_of<T>, options.math,
                               options.algorithm,      x.data, filter.data};
  const bool winograd = !tile && choose_conv_method(problem) == ConvMethod::winograd;
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
  check.workspace(workspace,
                  std::max(winograd ? winograd::workspace_bytes(g)
                                    : conv2d_partials_bytes(ConvOperation::forward, g, tile),
                           sums.data ? conv_sums_workspace_bytes(g, dtype_of<T>, options.math) : 0));
  RONDO_RETURN_IF_ERROR(check.status());

  ConvEpilogue<T> of_kernel = {bias.data, residual.data, epilogue.relu};
  const int64_t most_parts = most_moment_parts(g, dtype_of<T>, options.math);
  if (sums.data && most_parts > 0) of_kernel.moments = partial_moments(workspace, most_parts, g.k);
  ConvPlan plan;
  RONDO_RETURN_IF_ERROR(plan_for_device(problem, tile, &plan));
  int64_t parts = 0;
  RONDO_RETURN_IF_ERROR(
      forward<T>(plan, y.data, x.data, filter.data, g, of_kernel, workspace, &parts, stream));
  if (!sums.data) return {};
  if (parts > 0)
    return add_partial_moments("conv2d_sums", sums.data, of_kernel.moments, parts, workspace, stream);
  return add_moments("batch_norm_sums", sums.data, y.data, g.output_pixels, g.k, workspace, stream);
}

template <class T>
Status data_gradient(const std::optional<ConvTile>& tile, const ImageView<T>& dx,
                     const ImageView<const T>& dy, const FilterView<const T>& filter,
                     const Conv2dOptions& options, Workspace workspace, cudaStream_t stream) {
  constexpr const char* kName = "conv2d_data_gradient";
  ConvGeometry g;
  RONDO_RETURN_IF_ERROR(check_conv2d<T>({kName, "dx", "dy", "filter"}, dx, dy, filter, options, &g));
  const ConvProblem problem = {
      ConvOperation::data_gradient, g, dtype_of<T>, options.math, options.algorithm, dy.data, filter.data};
  const bool winograd = !tile && choose_conv_method(problem) == ConvMethod::winograd;
  ArgumentCheck check(kName);
  check.output("dx", dx);
  check.input("dy", dy);
  check.input("filter", filter);
  const int64_t transposed = tile ? 0 : transposed_filter_bytes(g, problem.type, problem.math);
  check.workspace(workspace, winograd
                                 ? winograd::workspace_bytes(g)
                                 : conv2d_partials_bytes(ConvOperation::data_gradient, g, tile) + transposed);
  RONDO_RETURN_IF_ERROR(check.status());

  ConvPlan plan;
  RONDO_RETURN_IF_ERROR(plan_for_device(problem, tile, &plan));
  if constexpr (std::is_same_v<T, float>) {
    if (plan.method == ConvMethod::winograd)
      return winograd::data_gradient(plan.winograd_tile, dx.data, dy.data, filter.data, g,
                                     static_cast<float*>(workspace.data), stream);
  }
  Conv2dParameters<T> p = {};
  p.geometry = g;
  p.from = dy.data, p.filter = filter.data, p.to = dx.data;
  p.image_fastest = true;
  int64_t no_parts = 0;
  return implicit_gemm<ConvOperation::data_gradient>(kName, plan, p, ConvEpilogue<T>{}, workspace, &no_parts,
                                                     stream);
}

}  // namespace

GemmShape conv2d_product(ConvOperation operation, const ConvGeometry& g) {
  if (operation == ConvOperation::forward) return {g.output_pixels, g.k, g.patch};
  if (operation == ConvOperation::filter_gradient) return {g.patch, g.k, g.output_pixels};
  const int64_t phases = std::max<int64_t>(1, phases_of<ConvOperation::data_gradient>(g));
  return {saturating_product({g.images, g.h, g.w}), g.c,
          ceil_div<int64_t>(saturating_product({g.k, g.r, g.s}), phases)};
}

int64_t conv2d_splits(ConvOperation operation, const ConvGeometry& g) {
  if (operation == ConvOperation::filter_gradient) return split_k(conv2d_product(operation, g)).splits;
  constexpr int64_t kLeastK = 512;  // of a part
  return split_k(conv2d_product(operation, g), kLeastK).splits;
}

int64_t conv2d_partials_bytes(ConvOperation operation, const ConvGeometry& g, int64_t splits) {
  const GemmShape product = conv2d_product(operation, g);
  return splits > 1 ? partials_bytes(product.m, product.n, splits) : 0;
}

int64_t conv2d_partials_bytes(ConvOperation operation, const ConvGeometry& g,
                              const std::optional<ConvTile>& tile) {
  if (!tile && operation == ConvOperation::forward && has_few_channels(g)) return 0;
  return conv2d_partials_bytes(operation, g, tile ? tile->splits : conv2d_splits(operation, g));
}

int64_t conv_sums_workspace_bytes(const ConvGeometry& g, DType type, Math math) {
  const int64_t parts = most_moment_parts(g, type, math);
  return std::max(moments_workspace_bytes(g.output_pixels, g.k),
                  parts > 0 ? partial_moments_bytes(parts, g.k) : 0);
}

// The functions of implicit_gemm.h and of conv2d.h.
#define RONDO_CONV2D(T)                                                                                      \
  Status conv2d_forward(std::optional<ConvTile> tile, ImageView<T> y, ImageView<const T> x,                  \
                        FilterView<const T> filter, const Conv2dOptions& options,                            \
                        const Conv2dEpilogueOf<T>& epilogue, Workspace workspace, cudaStream_t stream) {     \
    return forward<T>(tile, y, x, filter, options, epilogue, workspace, stream);                             \
  }                                                                                                          \
  Status conv2d_forward(ImageView<T> y, ImageView<const T> x, FilterView<const T> filter,                    \
                        const Conv2dOptions& options, const Conv2dEpilogueOf<T>& epilogue,                   \
                        Workspace workspace, cudaStream_t stream) {                                          \
    return forward<T>(std::nullopt, y, x, filter, options, epilogue, workspace, stream);                     \
  }                                                                                                          \
  Status conv2d_data_gradient(std::optional<ConvTile> tile, ImageView<T> dx, ImageView<const T> dy,          \
                              FilterView<const T> filter, const Conv2dOptions& options, Workspace workspace, \
                              cudaStream_t stream) {                                                         \
    return data_gradient<T>(tile, dx, dy, filter, options, workspace, stream);                               \
  }                                                                                                          \
  Status conv2d_data_gradient(ImageView<T> dx, ImageView<const T> dy, FilterView<const T> filter,            \
                              const Conv2dOptions& options, Workspace workspace, cudaStream_t stream) {      \
    return data_gradient<T>(std::nullopt, dx, dy, filter, options, workspace, stream);                       \
  }
RONDO_FOR_VALUE_TYPES(RONDO_CONV2D)
#undef RONDO_CONV2D

}  // namespace rondo
