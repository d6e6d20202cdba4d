#include <rondo/kernels/conv/conv_plan.h>

#include <rondo/kernels/conv/direct/few_channels.h>
#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>

namespace rondo {
namespace {

bool has_results(ConvOperation operation, const ConvGeometry& g) {
  switch (operation) {
    case ConvOperation::forward:
      return g.output_pixels > 0 && g.k > 0;
    case ConvOperation::data_gradient:
      return g.images > 0 && g.h > 0 && g.w > 0 && g.c > 0;
    case ConvOperation::filter_gradient:
      break;
  }
  return g.k > 0 && g.patch > 0;
}

}  // namespace

ConvMethod choose_conv_method(const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  if (!has_results(p.operation, g)) return ConvMethod::implicit_gemm;
  if (p.type == DType::float32 && winograd::wanted(g, {.algorithm = p.algorithm, .math = p.math}))
    return ConvMethod::winograd;
  if (p.operation != ConvOperation::data_gradient && has_few_channels(g)) return ConvMethod::few_channels;
  return ConvMethod::implicit_gemm;
}

int64_t conv_parts(const ConvProblem& p) {
  const bool filter_gradient = p.operation == ConvOperation::filter_gradient;
  switch (choose_conv_method(p)) {
    case ConvMethod::few_channels:
      return filter_gradient ? few_channels_parts(p.geometry) : 1;
    case ConvMethod::winograd:
      return filter_gradient ? winograd::filter_gradient_parts(p.geometry) : 1;
    case ConvMethod::implicit_gemm:
      break;
  }
  return conv2d_splits(p.operation, p.geometry);
}

ConvPlan choose_implicit_gemm_plan(const ConvProblem& p, const DeviceProperties& device) {
  const ConvGeometry& g = p.geometry;
  ConvPlan plan;
  plan.splits = conv2d_splits(p.operation, g);
  TileNeeds needs = p.operation == ConvOperation::filter_gradient ? kPatchNeeds : kGatherNeeds;
  needs.type = p.type;
  needs.math = p.math;
  const GemmShape product = conv2d_product(p.operation, g);
  plan.tile = choose_tile(product.m, product.n, plan.splits, needs, device);
  plan.math = p.math;
  const bool has_wgmma = p.type != DType::float32 || p.math != Math::fp32;
  if (!has_wgmma || !wgmma_conv_fits(p.operation, p.type, g, p.a, p.b)) return plan;
  plan.wgmma_tile = choose_wgmma_conv_tile(p.operation, g, plan.splits, plan.tile, device);
  if (!plan.wgmma_tile) return plan;
  plan.pixels = choose_wgmma_conv_pixels(p.operation, g);
  plan.transposed_filter = p.type == DType::float32 && p.operation == ConvOperation::data_gradient;
  return plan;
}

ConvPlan choose_conv_plan(const ConvProblem& p, const DeviceProperties& device) {
  const ConvMethod method = choose_conv_method(p);
  if (method == ConvMethod::implicit_gemm) return choose_implicit_gemm_plan(p, device);
  ConvPlan plan = {.method = method, .splits = conv_parts(p)};
  if (method == ConvMethod::winograd) plan.winograd_tile = winograd::tile_kind(device);
  return plan;
}

std::ostream& operator<<(std::ostream& out, const ConvPlan& plan) {
  switch (plan.method) {
    case ConvMethod::few_channels:
      out << "few channels";
      break;
    case ConvMethod::winograd:
      out << "Winograd: tile of "
          << (plan.winograd_tile == winograd::TileKind::gpu         ? "GPUs"
              : plan.winograd_tile == winograd::TileKind::small_gpu ? "small GPUs"
                                                                    : "vectors");
      break;
    case ConvMethod::implicit_gemm:
      out << "implicit GEMM by ";
      if (plan.wgmma_tile) {
        out << "wgmma: tile "
            << (*plan.wgmma_tile == WgmmaConvTile::k128x256   ? "128x256"
                : *plan.wgmma_tile == WgmmaConvTile::k128x128 ? "128x128"
                                                              : "128x64")
            << (plan.pixels == WgmmaConvPixels::im2col ? ", im2col" : ", boxes")
            << (plan.transposed_filter ? ", transposed copy of the filter" : "");
      } else {
        const TileInfo& tile = tile_infos()[static_cast<size_t>(plan.tile)];
        const bool tensor = tile.type != DType::float32 || tile.math != Math::fp32;
        out << (tensor ? "mma.sync" : "multiply-adds") << ": tile " << tile.name;
      }
      break;
  }
  return out << concat(", ", plan.splits, plan.splits == 1 ? " part" : " parts");
}

}  // namespace rondo
