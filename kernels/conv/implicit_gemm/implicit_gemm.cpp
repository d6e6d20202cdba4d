#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>

#include <rondo/kernels/gemm/split_k.h>
#include <rondo/kernels/core/launch.cuh>

#include <algorithm>
#include <optional>

namespace rondo {

int64_t conv2d_splits(ConvOperation operation, const ConvGeometry& g) {
  if (operation == ConvOperation::filter_gradient) return split_k(conv2d_product(operation, g)).splits;
  constexpr int64_t kLeastK = 512;  // of a part
  return split_k(conv2d_product(operation, g), kLeastK).splits;
}

int64_t conv2d_partials_bytes(ConvOperation operation, const ConvGeometry& g, int64_t splits) {
  const GemmShape product = conv2d_product(operation, g);
  return splits > 1 ? partials_bytes(product.m, product.n, splits) : 0;
}

ImplicitGemmPlan choose_implicit_gemm_plan(ConvOperation operation, const ConvGeometry& g,
                                           Arithmetic arithmetic, const void* a, const void* b,
                                           const DeviceProperties& device) {
  const int64_t splits = conv2d_splits(operation, g);
  TileNeeds needs = operation == ConvOperation::filter_gradient ? kPatchNeeds : kGatherNeeds;
  needs.arithmetic = arithmetic;
  const GemmShape product = conv2d_product(operation, g);
  ImplicitGemmPlan plan;
  plan.tile = choose_tile(product.m, product.n, splits, needs, device);
  if (!uses_tensor_cores(arithmetic) || !wgmma_conv_fits(operation, arithmetic, g, a, b)) return plan;
  const std::optional<TileId> tile = choose_wgmma_conv_tile(operation, g, splits, plan.tile, device);
  if (!tile) return plan;
  plan.tile = *tile;
  plan.pixels = choose_wgmma_conv_pixels(operation, g);
  plan.transposed_filter =
      factor_type(arithmetic) == DType::float32 && operation == ConvOperation::data_gradient;
  return plan;
}

int64_t most_moment_parts(const ConvGeometry& g, Arithmetic arithmetic) {
  if (!uses_tensor_cores(arithmetic) || g.output_pixels == 0) return 0;
  if (conv2d_splits(ConvOperation::forward, g) > 1) return 0;
  const int64_t by_mma = ceil_div<int64_t>(g.output_pixels, kMomentRows);
  const WgmmaConvPixels pixels = choose_wgmma_conv_pixels(ConvOperation::forward, g);
  return std::max(by_mma, wgmma_moment_parts(g, pixels));
}

}  // namespace rondo
