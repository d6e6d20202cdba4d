// Shared parts of the pooling kernels: the elements of a window, the windows of an element, and the layout of
// threads over an image.
//
// Each thread computes packs of N neighbouring channels of one pixel. The grid is column runs x rows x
// images, and a block is channels x columns. Consecutive blocks therefore read neighbouring memory, and no
// thread needs a division to find its pixel.
#pragma once

#include <rondo/kernels/pool/pool.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/values.cuh>

#include <algorithm>

namespace rondo::pool {

constexpr int kThreads = 128;
constexpr int64_t kImagesPerThread = 4;

// A window whose sides are known at launch.
struct AnyWindow {
  static constexpr bool inside = false;
  int window_h, window_w, stride_h, stride_w, pad_h, pad_w, pad_bottom, pad_right;
};

// The most common window, 2 x 2 with stride 2, known at compile time: its loops are unrolled and its
// divisions become shifts. All windows lie inside the image.
struct TwoByTwo {
  static constexpr bool inside = true;
  static constexpr int window_h = 2, window_w = 2, stride_h = 2, stride_w = 2, pad_h = 0, pad_w = 0;
};

// The range first ... last - 1.
struct Range {
  int first, last;
  __device__ int size() const { return last - first; }
};

template <class Window>
struct Geometry : Window {
  int64_t images;
  int height, width, channels;  // of x
  int rows, cols;               // of y

  // The rows of the windows (p, *) and the columns of the windows (*, q), those inside the image.
  __device__ Range rows_of_window(int p) const {
    const int begin = p * this->stride_h - this->pad_h;
    if constexpr (Window::inside)
      return {begin, begin + this->window_h};
    else
      return {max(begin, 0), min(begin + this->window_h, height)};
  }
  __device__ Range cols_of_window(int q) const {
    const int begin = q * this->stride_w - this->pad_w;
    if constexpr (Window::inside)
      return {begin, begin + this->window_w};
    else
      return {max(begin, 0), min(begin + this->window_w, width)};
  }
  __device__ int64_t x_offset(int64_t n, int h, int w, int c) const {
    return ((n * height + h) * width + w) * channels + c;
  }
  __device__ int64_t y_offset(int64_t n, int p, int q, int c) const {
    return ((n * rows + p) * cols + q) * channels + c;
  }
};

// The windows that contain element i along one side.
__device__ __forceinline__ Range windows_of_element(int i, int window, int stride, int pad, int windows) {
  const int past_first = i + pad - window;  // window v contains i if v * stride is in (past_first, i + pad]
  return {past_first < 0 ? 0 : past_first / stride + 1, min((i + pad) / stride + 1, windows)};
}

__device__ inline int row_of_thread() { return static_cast<int>(blockIdx.y); }
__device__ inline int col_of_thread() { return static_cast<int>(blockIdx.x * blockDim.y + threadIdx.y); }

// Calls work(n, c) for every image n and every first channel c of the calling thread's packs. Values that
// depend only on the pixel are computed once for several images.
template <int N, class G, class Work>
__device__ void for_each_pack(const G& g, Work work) {
  for (int64_t n = blockIdx.z; n < g.images; n += gridDim.z)
    for (int c = static_cast<int>(threadIdx.x) * N; c < g.channels; c += static_cast<int>(blockDim.x) * N)
      work(n, c);
}

constexpr int64_t kMaxGridSide = 65535;

// The launch shape with threads for all pixels of `image`.
template <class T>
LaunchShape shape_over(ImageView<T> image, int pack_width) {
  LaunchShape shape;
  shape.block_x = static_cast<int>(std::clamp<int64_t>(image.channels / pack_width, 1, kThreads));
  const int64_t runs = ceil_div<int64_t>(image.width, std::max(1, kThreads / shape.block_x));
  shape.block_y = static_cast<int>(ceil_div(image.width, runs));
  shape.grid_x = runs;
  shape.grid_y = image.height;
  shape.grid_z = image.channels == 0 ? 0 : std::min(ceil_div(image.images, kImagesPerThread), kMaxGridSide);
  return shape;
}

// Calls start(geometry) with TwoByTwo if the window matches it, otherwise with AnyWindow.
template <class Start>
Status with_geometry(const Geometry<AnyWindow>& g, Start start) {
  const bool inside = g.pad_h == 0 && g.pad_w == 0 && 2 * g.rows <= g.height && 2 * g.cols <= g.width;
  if (g.window_h == 2 && g.window_w == 2 && g.stride_h == 2 && g.stride_w == 2 && inside)
    return start(Geometry<TwoByTwo>{{}, g.images, g.height, g.width, g.channels, g.rows, g.cols});
  return start(g);
}

// Checks that the shapes match, and narrows them to the types of the kernels. `image` is x or dx, `pooled` is
// y or dy. Both must have passed the checks of a single operand.
Status check_geometry(const char* operation, ImageView<const void> image, ImageView<const void> pooled,
                      const PoolWindow& window, Geometry<AnyWindow>* geometry);
template <class Image, class Pooled>
Status check_geometry(const char* operation, const ImageView<Image>& image, const ImageView<Pooled>& pooled,
                      const PoolWindow& window, Geometry<AnyWindow>* geometry) {
  const auto shape_of = [](const auto& view) {
    return ImageView<const void>{view.data, view.images, view.height, view.width, view.channels};
  };
  return check_geometry(operation, shape_of(image), shape_of(pooled), window, geometry);
}

// The widest pack for images of c channels.
template <class T, class... More>
int pool_width(int64_t channels, const T* data, const More*... more) {
  return pack_width<16 / sizeof(T)>(channels, data, more...);
}

}  // namespace rondo::pool
