// Boxes of pixels. A tensor map (core/tensor_map.h) copies a box of an image tensor, NHWC, with one
// instruction, and writes zeros for pixels outside of the images. So a tile whose rows are the pixels of a
// box needs no addresses of its own: the k-tile of a tap is the box, shifted by the tap.
#pragma once

#include <cuda_runtime.h>

#include <rondo/kernels/core/divisor.h>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace rondo {

// w x h x images pixels, each a power of two: neighbours in a row, rows, images. Pixels are numbered in this
// order.
struct PixelBox {
  int w = 1, h = 1, images = 1;
  int pixels() const { return w * h * images; }
};

inline constexpr int kLongestBoxSide = 32;  // along an image

struct ImagePixel {
  int w, h, image;
};

// Boxes beside each other cover the pixels of a tensor. The last one along an axis may be partly outside.
class BoxGrid {
 public:
  PixelBox box;
  int w = 0, h = 0, images = 0;  // number of boxes

  BoxGrid() = default;
  BoxGrid(const PixelBox& of, int pixels_w, int pixels_h, int count)
      : box(of),
        w((pixels_w + of.w - 1) / of.w),
        h((pixels_h + of.h - 1) / of.h),
        images((count + of.images - 1) / of.images),
        by_w_(std::max(w, 1)),
        by_h_(std::max(h, 1)),
        w_bits_(std::countr_zero(static_cast<unsigned>(of.w))),
        h_bits_(std::countr_zero(static_cast<unsigned>(of.h))) {}
  int64_t size() const { return static_cast<int64_t>(w) * h * images; }

  // The first pixel of a box. Boxes of the same images have consecutive numbers: taps read their pixels
  // several times, from L2.
  __host__ __device__ ImagePixel origin(int number) const {
    const auto [line, column] = by_w_.divide(number);
    const auto [of_images, row] = by_h_.divide(line);
    return {column * box.w, row * box.h, of_images * box.images};
  }
  // Pixel `number` of a box, from the first one.
  __host__ __device__ ImagePixel in_box(int number) const {
    return {number & (box.w - 1), number >> w_bits_ & (box.h - 1), number >> w_bits_ >> h_bits_};
  }

 private:
  Divisor by_w_, by_h_;
  int w_bits_ = 0, h_bits_ = 0;
};

// The box of `pixels` pixels, a power of two, with which the fewest boxes cover the tensor; of these the one
// that is longest along an image.
PixelBox choose_pixel_box(int pixels, int pixels_w, int pixels_h, int images);

}  // namespace rondo
