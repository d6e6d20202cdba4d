#include <rondo/kernels/conv/conv_plan.h>

#include <rondo/kernels/conv/direct/few_channels.h>
#include <rondo/kernels/conv/direct/grouped.h>
#include <rondo/kernels/conv/direct/image_vectors.h>
#include <rondo/kernels/gemm/split_k.h>
#include <rondo/kernels/reduce/bias_gradient.h>

#include <algorithm>

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

// Of the plans on all devices: the transposed copy of the filter may be needed.
ConvPlan plan_with_largest_workspace(const ConvProblem& p) {
  ConvPlan plan = {.method = choose_conv_method(p), .splits = conv_parts(p)};
  plan.gemm.transposed_filter = p.operation == ConvOperation::data_gradient;
  return plan;
}

}  // namespace

ConvMethod choose_conv_method(const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  if (g.groups > 1) return ConvMethod::grouped;
  if (!has_results(p.operation, g)) return ConvMethod::implicit_gemm;
  if (winograd::wanted(g, p.algorithm, p.arithmetic)) return ConvMethod::winograd;
  if (p.operation != ConvOperation::data_gradient && has_few_channels(g)) return ConvMethod::few_channels;
  return ConvMethod::implicit_gemm;
}

int64_t conv_parts(const ConvProblem& p) {
  const bool filter_gradient = p.operation == ConvOperation::filter_gradient;
  switch (choose_conv_method(p)) {
    case ConvMethod::few_channels:
      return filter_gradient ? few_channels_parts(p.geometry) : 1;
    case ConvMethod::grouped:
      return filter_gradient ? grouped_parts(p.geometry) : 1;
    case ConvMethod::winograd:
      return filter_gradient ? winograd::filter_gradient_parts(p.geometry) : 1;
    case ConvMethod::image_vectors:
    case ConvMethod::implicit_gemm:
      break;
  }
  return conv2d_splits(p.operation, p.geometry);
}

ConvPlan choose_conv_plan(const ConvProblem& p, const DeviceProperties& device) {
  ConvPlan plan = {.method = choose_conv_method(p), .splits = conv_parts(p)};
  if (plan.method == ConvMethod::winograd) plan.winograd_tile = winograd::tile_kind(device);
  const bool in_order = plan.method == ConvMethod::few_channels || plan.method == ConvMethod::implicit_gemm;
  if (in_order && plan.splits == 1 && p.arithmetic == Arithmetic::fp32 &&
      prefers_image_vectors(p.operation, p.geometry, device))
    plan.method = ConvMethod::image_vectors;
  if (plan.method == ConvMethod::implicit_gemm)
    plan.gemm = choose_implicit_gemm_plan(p.operation, p.geometry, p.arithmetic, p.a, p.b, device);
  return plan;
}

int64_t workspace_bytes(const ConvProblem& p, const ConvPlan& plan) {
  const ConvGeometry& g = p.geometry;
  const bool filter_gradient = p.operation == ConvOperation::filter_gradient;
  if (plan.method == ConvMethod::winograd)
    return filter_gradient ? winograd::filter_gradient_workspace_bytes(g) : winograd::workspace_bytes(g);
  return conv2d_partials_bytes(p.operation, g, plan.splits) +
         (plan.gemm.transposed_filter ? transposed_filter_bytes(g, p.arithmetic) : 0);
}

int64_t workspace_bytes(const ConvProblem& p) { return workspace_bytes(p, plan_with_largest_workspace(p)); }

int64_t bias_workspace_bytes(const ConvProblem& p, const ConvPlan& plan) {
  const ConvGeometry& g = p.geometry;
  const int64_t of_dw = workspace_bytes(p, plan);
  if (g.patch > 0 && has_bias_gradient(plan.method))
    return of_dw + (plan.splits > 1 ? partials_bytes(1, g.k, plan.splits) : 0);
  return std::max(of_dw, bias_gradient_workspace_bytes(g.output_pixels, g.k));
}

int64_t bias_workspace_bytes(const ConvProblem& p) {
  return bias_workspace_bytes(p, plan_with_largest_workspace(p));
}

int64_t conv_sums_workspace_bytes(const ConvGeometry& g, Arithmetic arithmetic) {
  const int64_t parts = most_moment_parts(g, arithmetic);
  return std::max(moments_workspace_bytes(g.output_pixels, g.k),
                  parts > 0 ? partial_moments_bytes(parts, g.k) : 0);
}

std::ostream& operator<<(std::ostream& out, const ConvPlan& plan) {
  switch (plan.method) {
    case ConvMethod::few_channels:
      out << "few channels";
      break;
    case ConvMethod::grouped:
      out << "groups";
      break;
    case ConvMethod::image_vectors:
      out << "vectors of images";
      break;
    case ConvMethod::winograd:
      out << "Winograd: tile of "
          << (plan.winograd_tile == winograd::TileKind::gpu         ? "GPUs"
              : plan.winograd_tile == winograd::TileKind::small_gpu ? "small GPUs"
                                                                    : "vectors");
      break;
    case ConvMethod::implicit_gemm:
      out << "implicit GEMM by "
          << (plan.gemm.tile.instruction == Instruction::wgmma ? "wgmma"
              : plan.gemm.tile.instruction == Instruction::mma ? "mma.sync"
                                                               : "multiply-adds")
          << ": tile " << plan.gemm.tile;
      if (plan.gemm.tile.instruction == Instruction::wgmma)
        out << (plan.gemm.pixels == WgmmaConvPixels::im2col ? ", im2col" : ", boxes")
            << (plan.gemm.transposed_filter ? ", transposed copy of the filter" : "");
      break;
  }
  return out << concat(", ", plan.splits, plan.splits == 1 ? " part" : " parts");
}

}  // namespace rondo
