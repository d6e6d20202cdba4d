// What the pooling kernels share: which elements a window holds, which windows hold an element, and how
// threads are laid over an image.
//
// One thread makes one pack of N neighbouring channels of one pixel. A block stays inside one image, so that
// a thread finds its pixel with divisions of 32 bits; a 64-bit division is a function call on a GPU.
#pragma once

#include <rondo/kernels/pool/pool.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/pack.cuh>

namespace rondo::pool {

constexpr int kThreads = 128;

struct PoolGeometry {
  int height, width, channels;  // of x
  int rows, cols;               // of y
  int window_h, window_w, stride_h, stride_w, pad_h, pad_w;

  __device__ int64_t x_offset(int64_t n, int h, int w, int c) const {
    return ((n * height + h) * width + w) * channels + c;
  }
  __device__ int64_t y_offset(int64_t n, int p, int q, int c) const {
    return ((n * rows + p) * cols + q) * channels + c;
  }
};

// first ... last - 1
struct Range {
  int first, last;
  __device__ int size() const { return last - first; }
};

// The elements of window number i along one side that lie inside the image.
__device__ __forceinline__ Range elements_of_window(int i, int window, int stride, int pad, int size) {
  const int begin = i * stride - pad;
  return {max(begin, 0), min(begin + window, size)};
}

// The windows that hold element i along one side.
__device__ __forceinline__ Range windows_of_element(int i, int window, int stride, int pad, int windows) {
  const int past_first =
      i + pad - window;  // window number v holds i when v * stride is in (past_first, i + pad]
  return {past_first < 0 ? 0 : past_first / stride + 1, min((i + pad) / stride + 1, windows)};
}

struct Place {
  bool inside;  // this thread has a pixel at all
  int64_t n;
  int row, col, c;
};

// The pixel and channel of this thread in images of height x width pixels.
template <int N>
__device__ Place place_of_thread(int height, int width, int channels) {
  const int packs_per_pixel = channels / N;
  const int packs = height * width * packs_per_pixel;
  const int blocks_per_image = ceil_div(packs, kThreads);
  const int n = static_cast<int>(blockIdx.x) / blocks_per_image;
  const int pack =
      (static_cast<int>(blockIdx.x) - n * blocks_per_image) * kThreads + static_cast<int>(threadIdx.x);
  const int pixel = pack / packs_per_pixel;
  const int row = pixel / width;
  return {pack < packs, n, row, pixel - row * width, (pack - pixel * packs_per_pixel) * N};
}

// The launch that place_of_thread<N>() divides up again.
template <int N>
LaunchShape shape_over(ImageView<const float> image) {
  LaunchShape shape;
  shape.grid_x =
      image.images * ceil_div<int64_t>(image.height * image.width * (image.channels / N), kThreads);
  shape.block_x = kThreads;
  return shape;
}

template <class Start>
Status with_pack_width(int width, Start start) {
  if (width == 4) return start(std::integral_constant<int, 4>());
  if (width == 2) return start(std::integral_constant<int, 2>());
  return start(std::integral_constant<int, 1>());
}

// Checks what belongs together and narrows it to what kernels use; `image` is x or dx, `pooled` y or dy.
Status check(const char* operation, ImageView<const float> image, ImageView<const float> pooled,
             const PoolWindow& window, PoolGeometry* geometry);

}  // namespace rondo::pool
