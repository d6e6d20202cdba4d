// Implicit-GEMM convolutions with wgmma (compute capability 9.0): 16-bit types for all three operations, tf32
// and tf32x3 for forward and data gradient. The choice of the kernel, a pure function of the shape and the
// device, and the launchers.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/conv/conv_geometry.h>
#include <rondo/kernels/gemm/tiles.h>

#include <cstdint>
#include <optional>
#include <span>

namespace rondo {

// The rows of a tile: pixels, or for the filter gradient (tap, in channel).
inline constexpr int kRowsOfConvTile = 128;
inline constexpr int kPixelsOfGradientStep = 64;  // a k-tile of the filter gradient

// The pixels of a tile (conv_rows.cuh), or of a step of the filter gradient (gradient_pixels.cuh): those of a
// box, or pixels that follow each other in the images.
enum class WgmmaConvPixels { box, im2col };

// The product that computes y, dx or the transpose of dw. k: for y the patch, for dx the mean over the phases
// (taps.cuh), for dw the pixels of y.
GemmShape conv2d_product(ConvOperation operation, const ConvGeometry& geometry);

// Returns whether wgmma supports the operation. `a`, `b`: the operands in argument order. Requires 16-byte
// aligned pointers and pixels, strides of at most 8, pixels that a tensor map can describe, and at least one
// result and one term.
//
// float32: no filter gradient; the data gradient reads a transposed copy of the filter, so `b` and the input
// channels need no alignment.
bool wgmma_conv_fits(ConvOperation operation, Arithmetic arithmetic, const ConvGeometry& geometry,
                     const void* a, const void* b);

// Whether boxes of a tensor map can have the pixels that the operation reads. Pixels of y with a stride read
// every second pixel of x, or fewer. A box can copy these, with an element stride, but at the border of the
// image it begins before the tensor. CUDA does not say which elements it then copies, so boxes are not used.
// Nor are they for a data gradient with a stride and a dilation along one axis.
bool wgmma_box_fits(ConvOperation operation, const ConvGeometry& geometry);

// Whether a tensor map of im2col mode can describe the pixels that the operation reads: not in a data
// gradient with strides. Its fields have 8 bits: about 128 pixels of padding, and 255 pixels from the first
// tap to the last one.
bool wgmma_im2col_fits(ConvOperation operation, const ConvGeometry& geometry);

// An error if the pixels do not fit.
Status check_conv_pixels(const char* name, ConvOperation operation, WgmmaConvPixels pixels,
                         const ConvGeometry& geometry);

// The rows of all tiles of y or dx, with those that are no pixels.
int64_t wgmma_conv_row_count(ConvOperation operation, const ConvGeometry& geometry, WgmmaConvPixels pixels);

// The kind of pixels that fits. If both do, the one with which all tiles of y or dx together visit fewer
// taps, or the filter gradient has fewer steps; boxes if both are as good. Boxes waste more where they do not
// divide the images, but those of y and dx skip the taps that are outside of the image.
WgmmaConvPixels choose_wgmma_conv_pixels(ConvOperation operation, const ConvGeometry& geometry);

// A tile of y, dx or dw, and the efficiency of its multiply-adds (TileInfo).
struct WgmmaConvTile {
  TileId id;
  double efficiency;
};
// The largest first. None in fp32.
std::span<const WgmmaConvTile> wgmma_conv_tiles(Arithmetic arithmetic);

// The tile with the shortest estimated time: the estimate of choose_gemm_plan(), multiplied by the number of
// k-tiles. A k-tile of wgmma has the channels of one tap, rounded up to a multiple of 64 (floats: 32); one of
// mma.sync is dense. The pixels are those of choose_wgmma_conv_pixels(). Returns nullopt if the estimate for
// the mma.sync tile `other` is shorter, or the device has no wgmma. The arithmetic is that of `other`.
// `splits`: the number of parts of k.
std::optional<TileId> choose_wgmma_conv_tile(ConvOperation operation, const ConvGeometry& geometry,
                                             int64_t splits, const TileId& other,
                                             const DeviceProperties& device);

// The bytes of the transposed copy of the filter, which is behind the partial sums in the workspace of the
// data gradient of floats by tensor cores. 0 in other arithmetics, and for shapes that do not fit.
int64_t transposed_filter_bytes(const ConvGeometry& geometry, Arithmetic arithmetic);

// Copies the filter KRSC to `to` as CRSK.
Status transpose_filter(float* to, const float* filter, const ConvGeometry& geometry, cudaStream_t stream);

// y from x, or dx from dy. T: __nv_bfloat16, __half or float.
template <class T>
struct WgmmaConvArguments {
  T* to;
  const T* from;
  const T* filter;  // of dx and floats: the transposed copy
  ConvEpilogue<T> epilogue = {};
  ConvGeometry geometry;
  int64_t splits = 1;          // parts of k
  float* workspace = nullptr;  // of several parts (conv2d_partials_bytes()), which have no epilogue.moments
};

// kArithmetic: tf32, tf32x3, bf16 or fp16. `pixels`: im2col only where it fits.
// Errors: bad_argument for a tile that this build does not have, and for pixels that do not fit.
template <Arithmetic kArithmetic>
Status launch_conv2d_wgmma(const char* name, ConvOperation operation, const TileId& tile,
                           WgmmaConvPixels pixels, const WgmmaConvArguments<FactorOf<kArithmetic>>& arguments,
                           cudaStream_t stream);

// Number of moment records that the forward kernel writes: one per 16 rows of its tiles.
int64_t wgmma_moment_parts(const ConvGeometry& geometry, WgmmaConvPixels pixels);

// With `splits` > 1, `workspace` has room for the parts (partials_bytes()), and their sum is dw.
// kArithmetic: bf16 or fp16.
template <Arithmetic kArithmetic>
Status launch_filter_gradient_wgmma(const char* name, const TileId& tile, WgmmaConvPixels pixels,
                                    const FilterGradient& to, const FactorOf<kArithmetic>* dy,
                                    const FactorOf<kArithmetic>* x, const ConvGeometry& geometry,
                                    int64_t splits, float* workspace, cudaStream_t stream);

}  // namespace rondo
