#include <rondo/kernels/conv/implicit_gemm/wgmma/wgmma_conv.h>

#include <rondo/kernels/conv/implicit_gemm/wgmma/pixel_box.h>
#include <rondo/kernels/gemm/gemm_plan.h>
#include <rondo/kernels/layout/transposed_copy.h>
#include <rondo/kernels/conv/implicit_gemm/taps.cuh>
#include <rondo/kernels/conv/implicit_gemm/wgmma/im2col_axis.cuh>
#include <rondo/kernels/core/launch.cuh>

#include <algorithm>

namespace rondo {
namespace {

constexpr int kLargestStride = 8;  // of a tensor map
constexpr int kLineBytes = 128;    // of k, in the k-tiles of all kernels by tensor cores

int64_t count_phases(ConvOperation operation, const ConvGeometry& g) {
  return operation == ConvOperation::data_gradient ? phases_of<ConvOperation::data_gradient>(g) : 1;
}
// The pixels of the filter gradient are those of y.
Axes axes_in_phase(ConvOperation operation, const ConvGeometry& g, int64_t phase) {
  return operation == ConvOperation::data_gradient
             ? axes_of<ConvOperation::data_gradient>(g, static_cast<int>(phase))
             : axes_of<ConvOperation::forward>(g, 0);
}

// The boxes of the first phase. The kernel takes its box for all phases, none of which has more rows.
BoxGrid boxes_of(ConvOperation operation, const ConvGeometry& g) {
  const Axes axes = axes_in_phase(operation, g, 0);
  return {choose_pixel_box(kRowsOfConvTile, axes.w.rows, axes.h.rows, g.images), axes.w.rows, axes.h.rows,
          g.images};
}
int64_t im2col_tiles(ConvOperation operation, const ConvGeometry& g) {
  const Axes axes = axes_in_phase(operation, g, 0);
  return ceil_div<int64_t>(int64_t{g.images} * axes.h.rows * axes.w.rows, kRowsOfConvTile);
}

// The sum of the taps along an axis over its boxes, which have `length` rows.
int64_t taps_of_boxes(const Axis& axis, int length) {
  int64_t taps = 0;
  for (int row = 0; row < axis.rows; row += length)
    taps += taps_between(axis, row, std::min(row + length, axis.rows) - 1).count;
  return taps;
}

// The steps of k of the filter gradient.
int64_t gradient_steps(const ConvGeometry& g, WgmmaConvPixels pixels) {
  if (pixels == WgmmaConvPixels::im2col) return ceil_div<int64_t>(g.output_pixels, kPixelsOfGradientStep);
  const PixelBox box = choose_pixel_box(kPixelsOfGradientStep, g.q, g.p, g.images);
  return BoxGrid(box, g.q, g.p, g.images).size();
}

// The number of k-tiles of `line` values that a block processes for one part. A k-tile of wgmma belongs to
// one tap, or has 64 pixels; those of mma.sync are dense. For a strided data gradient it is the mean over the
// phases. Taps that both kernels skip at the borders of images are counted.
struct Steps {
  double wgmma, mma;
};
Steps steps_of(ConvOperation operation, const ConvGeometry& g, int64_t splits, int line) {
  const auto padded = [&](int64_t k) { return ceil_div<int64_t>(k, line) * line; };
  if (operation == ConvOperation::filter_gradient) {
    const int64_t steps = gradient_steps(g, choose_wgmma_conv_pixels(operation, g));
    return {static_cast<double>(ceil_div(steps, splits) * line),
            static_cast<double>(padded(ceil_div<int64_t>(g.output_pixels, splits)))};
  }
  const int64_t phases = count_phases(operation, g);
  const int64_t channels = operation == ConvOperation::forward ? g.c : g.k;
  Steps sum = {};
  for (int64_t phase = 0; phase < phases; ++phase) {
    const Axes axes = axes_in_phase(operation, g, phase);
    const int64_t taps = int64_t{axes.h.taps} * axes.w.taps;
    sum.wgmma += static_cast<double>(padded(ceil_div(taps * padded(channels), splits)));
    sum.mma += static_cast<double>(padded(ceil_div(taps * channels, splits)));
  }
  return {sum.wgmma / static_cast<double>(phases), sum.mma / static_cast<double>(phases)};
}

}  // namespace

GemmShape conv2d_product(ConvOperation operation, const ConvGeometry& g) {
  if (operation == ConvOperation::forward) return {g.output_pixels, g.k, g.patch};
  if (operation == ConvOperation::filter_gradient) return {g.patch, g.k, g.output_pixels};
  const int64_t phases = std::max<int64_t>(1, phases_of<ConvOperation::data_gradient>(g));
  return {saturating_product({g.images, g.h, g.w}), g.c,
          ceil_div<int64_t>(saturating_product({g.k, g.r, g.s}), phases)};
}

bool wgmma_conv_fits(ConvOperation operation, Arithmetic arithmetic, const ConvGeometry& g, const void* a,
                     const void* b) {
  const DType type = factor_type(arithmetic);
  if (type == DType::float32 && operation == ConvOperation::filter_gradient) return false;
  const bool copied = type == DType::float32 && operation == ConvOperation::data_gradient;
  const auto aligned = [](const void* data) { return reinterpret_cast<uintptr_t>(data) % 16 == 0; };
  // The channels of the operands: x, the filter and dy. y is no operand, so its channels do not matter.
  const int aligned_channels = 16 / static_cast<int>(size_of(type));
  const bool channels = (copied || g.c % aligned_channels == 0) &&
                        (operation == ConvOperation::forward || g.k % aligned_channels == 0);
  return g.groups == 1 && channels && aligned(a) && (copied || aligned(b)) && g.stride_h <= kLargestStride &&
         g.stride_w <= kLargestStride && g.output_pixels > 0 && g.k > 0 && g.patch > 0 && g.h > 0 &&
         g.w > 0 && (wgmma_box_fits(operation, g) || wgmma_im2col_fits(operation, g));
}

bool wgmma_box_fits(ConvOperation operation, const ConvGeometry& g) {
  if (operation != ConvOperation::data_gradient) return g.stride_h == 1 && g.stride_w == 1;
  return (g.stride_h == 1 || g.dilation_h == 1) && (g.stride_w == 1 || g.dilation_w == 1);
}

bool wgmma_im2col_fits(ConvOperation operation, const ConvGeometry& g) {
  const Axes axes = axes_in_phase(operation, g, 0);
  // The pixels of y, and those that are rows, have numbers of 32 bits.
  return count_phases(operation, g) == 1 && im2col_fits(axes.h) && im2col_fits(axes.w) &&
         g.output_pixels <= INT32_MAX && int64_t{g.images} * axes.h.rows * axes.w.rows <= INT32_MAX;
}

Status check_conv_pixels(const char* name, ConvOperation operation, WgmmaConvPixels pixels,
                         const ConvGeometry& g) {
  const bool box = pixels == WgmmaConvPixels::box;
  if (box ? wgmma_box_fits(operation, g) : wgmma_im2col_fits(operation, g)) return {};
  return bad_argument(name, ": a tensor map of ", box ? "boxes" : "im2col mode",
                      " cannot describe the pixels, with strides of ", g.stride_h, " and ", g.stride_w);
}

int64_t wgmma_conv_row_count(ConvOperation operation, const ConvGeometry& g, WgmmaConvPixels pixels) {
  const int64_t tiles = pixels == WgmmaConvPixels::im2col
                            ? im2col_tiles(operation, g)
                            : boxes_of(operation, g).size() * count_phases(operation, g);
  return tiles * kRowsOfConvTile;
}

WgmmaConvPixels choose_wgmma_conv_pixels(ConvOperation operation, const ConvGeometry& g) {
  if (!wgmma_im2col_fits(operation, g)) return WgmmaConvPixels::box;
  if (!wgmma_box_fits(operation, g)) return WgmmaConvPixels::im2col;
  if (operation == ConvOperation::filter_gradient)
    return gradient_steps(g, WgmmaConvPixels::im2col) < gradient_steps(g, WgmmaConvPixels::box)
               ? WgmmaConvPixels::im2col
               : WgmmaConvPixels::box;
  const Axes axes = axes_in_phase(operation, g, 0);
  const BoxGrid boxes = boxes_of(operation, g);
  const int64_t taps_of_box_tiles =
      taps_of_boxes(axes.h, boxes.box.h) * taps_of_boxes(axes.w, boxes.box.w) * boxes.images;
  const int64_t taps_of_im2col_tiles = im2col_tiles(operation, g) * axes.h.taps * axes.w.taps;
  return taps_of_im2col_tiles < taps_of_box_tiles ? WgmmaConvPixels::im2col : WgmmaConvPixels::box;
}

int64_t wgmma_moment_parts(const ConvGeometry& g, WgmmaConvPixels pixels) {
  return wgmma_conv_row_count(ConvOperation::forward, g, pixels) / 16;
}

int64_t transposed_filter_bytes(const ConvGeometry& g, Arithmetic arithmetic) {
  if (factor_type(arithmetic) != DType::float32 || !uses_tensor_cores(arithmetic)) return 0;
  if (!wgmma_conv_fits(ConvOperation::data_gradient, arithmetic, g, nullptr, nullptr)) return 0;
  return int64_t{g.k} * g.patch * 4;
}

Status transpose_filter(float* to, const float* filter, const ConvGeometry& g, cudaStream_t stream) {
  const int64_t taps = int64_t{g.r} * g.s;
  return copy_transposed<float>("transpose_filter", {to, taps, g.c, g.k, taps * g.k, g.k},
                                {filter, taps, g.k, g.c, taps * g.c, g.c}, stream);
}

std::optional<TileId> choose_wgmma_conv_tile(ConvOperation operation, const ConvGeometry& g, int64_t splits,
                                             const TileId& other, const DeviceProperties& device) {
  if (!device.wgmma) return std::nullopt;
  const int multiprocessors = std::max(1, device.multiprocessors);
  const GemmShape product = conv2d_product(operation, g);
  const Arithmetic arithmetic = other.arithmetic;
  const Steps steps =
      steps_of(operation, g, splits, kLineBytes / static_cast<int>(size_of(factor_type(arithmetic))));
  double least =
      steps.mma * estimated_time({product.m, product.n, 1}, splits, other.m, other.n,
                                 mma_sync_relative_throughput(arithmetic) * tile_info(other).efficiency,
                                 multiprocessors);
  std::optional<TileId> best;
  const int64_t rows = operation == ConvOperation::filter_gradient
                           ? int64_t{g.r} * g.s * ceil_div(g.c, 64) * 64
                           : wgmma_conv_row_count(operation, g, choose_wgmma_conv_pixels(operation, g));
  for (const auto& [tile, efficiency] : wgmma_conv_tiles(arithmetic)) {
    const double time = steps.wgmma * estimated_time({rows, product.n, 1}, splits, tile.m, tile.n, efficiency,
                                                     multiprocessors);
    if (!(time < least)) continue;
    least = time;
    best = tile;
  }
  return best;
}

}  // namespace rondo
