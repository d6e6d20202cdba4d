#include <rondo/kernels/conv/workspace_bound.h>

#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/conv/conv_checks.h>
#include <rondo/kernels/conv/implicit_gemm/wgmma/wgmma_conv.h>
#include <rondo/kernels/gemm/split_k.h>
#include <rondo/kernels/reduce/moments.h>

#include <algorithm>

namespace rondo {

// The method does not depend on the number of images. The parts of the few-channels and Winograd kernels, and
// those of the moments, grow with it. The parts of an implicit GEMM do not: most_partial_bytes() bounds them.
// With fewer images wgmma may take the other kind of pixels.
Conv2dWorkspaceBytes conv2d_workspace_bound(const ImageView<const float>& x,
                                            const FilterView<const float>& filter,
                                            const Conv2dOptions& options, DType type) {
  Conv2dWorkspaceBytes bytes = conv2d_workspace_bytes(x, filter, options, type);
  ConvGeometry g;
  const auto [p, q] = conv2d_output_sides(x.height, x.width, filter.height, filter.width, options);
  const ImageView<const float> y = {nullptr, x.images, p, q, filter.out_channels};
  if (x.images == 0 ||
      !check_conv2d_shapes({"conv2d_workspace_bound", "x", "y", "filter"}, x, y, filter, options, &g).ok())
    return bytes;
  const bool tensor_cores = uses_tensor_cores(arithmetic_of(type, options.math));
  int64_t parts = 0;  // of the moments
  if (tensor_cores && g.output_pixels > 0)
    for (const WgmmaConvPixels pixels : {WgmmaConvPixels::box, WgmmaConvPixels::im2col})
      parts = std::max(parts, wgmma_moment_parts(g, pixels));
  const int64_t copy = tensor_cores && type == DType::float32 ? int64_t{g.k} * g.patch * 4 : 0;
  const int64_t partials = most_partial_bytes();
  bytes.forward = std::max(bytes.forward, partials);
  bytes.forward_sums =
      std::max({bytes.forward_sums, bytes.forward, parts > 0 ? partial_moments_bytes(parts, g.k) : 0});
  bytes.data_gradient = std::max(bytes.data_gradient, partials + copy);
  bytes.filter_gradient = std::max(bytes.filter_gradient, partials);
  bytes.filter_gradient_bias = std::max(bytes.filter_gradient_bias, bytes.filter_gradient);
  return bytes;
}

}  // namespace rondo
