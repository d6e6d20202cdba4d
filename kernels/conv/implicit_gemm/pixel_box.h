// Boxes of pixels. A tensor map (core/tensor_map.h) copies a box of an image tensor, NHWC, with one
// instruction, and writes zeros for pixels outside of the images. So a tile whose rows are the pixels of a
// box needs no addresses of its own: the k-tile of a tap is the box, shifted by the tap.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace rondo {

// w x h x images pixels: neighbours in a row, rows, images. Pixels are numbered in this order.
struct PixelBox {
  int w = 1, h = 1, images = 1;
  __host__ __device__ int pixels() const { return w * h * images; }
};

// The longest side of a box along an image: 32 pixels with a stride of 8 are the 256 of a tensor map.
inline constexpr int kLongestBoxSide = 32, kLargestBoxStride = 8;

// Boxes beside each other cover the pixels of a tensor. The last one along an axis may be partly outside.
struct BoxGrid {
  PixelBox box;
  int w, h, images;  // number of boxes
  __host__ __device__ BoxGrid(const PixelBox& of, int pixels_w, int pixels_h, int count)
      : box(of),
        w((pixels_w + of.w - 1) / of.w),
        h((pixels_h + of.h - 1) / of.h),
        images((count + of.images - 1) / of.images) {}
  __host__ __device__ int64_t size() const { return static_cast<int64_t>(w) * h * images; }
};

// The first pixel of a box.
struct BoxOrigin {
  int w, h, image;
};
// Boxes of the same images have consecutive numbers: taps read their pixels several times, from L2.
__host__ __device__ inline BoxOrigin box_origin(const BoxGrid& grid, int64_t number) {
  return {static_cast<int>(number % grid.w) * grid.box.w,
          static_cast<int>(number / grid.w % grid.h) * grid.box.h,
          static_cast<int>(number / grid.w / grid.h) * grid.box.images};
}

// The box of `pixels` pixels, a power of two, with which the fewest boxes cover the tensor; of these the one
// that is longest along an image.
PixelBox choose_pixel_box(int pixels, int pixels_w, int pixels_h, int images);

}  // namespace rondo
