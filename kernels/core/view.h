// Views: plain, non-owning descriptions of device memory, passed by value. They convert from T to const T,
// so that an output can be passed where an input is asked for, and never the other way round. An operand that
// may be left out is left out by an empty view: no data and no elements, as {} is.
//
// Unless an operation says otherwise (collectives do), the memory and the stream that it is given belong to
// the device that is current when it is called.
#pragma once

#include <rondo/kernels/core/size.h>

#include <cstdint>
#include <type_traits>

namespace rondo {

// `size` elements, one after the other.
template <class T>
struct VectorView {
  T* data = nullptr;
  int64_t size = 0;

  template <class U>
    requires(std::is_same_v<U, const T> && !std::is_const_v<T>)
  operator VectorView<U>() const { return {data, size}; }
};

// rows x cols, row-major; element (i, j) is data[i * stride + j]. `stride` (the leading dimension) is in
// elements, at least cols; left out, it is cols.
template <class T>
struct MatrixView {
  T* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = cols;

  template <class U>
    requires(std::is_same_v<U, const T> && !std::is_const_v<T>)
  operator MatrixView<U>() const { return {data, rows, cols, stride}; }
};

template <class T>
MatrixView<T> matrix(T* data, int64_t rows, int64_t cols) {
  return {data, rows, cols, cols};
}

// Packed NHWC: element (n, h, w, c) is data[((n * height + h) * width + w) * channels + c].
template <class T>
struct ImageView {
  T* data = nullptr;
  int64_t images = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;

  int64_t size() const { return saturating_product({images, height, width, channels}); }
  template <class U>
    requires(std::is_same_v<U, const T> && !std::is_const_v<T>)
  operator ImageView<U>() const {
    return {data, images, height, width, channels};
  }
};

// Packed KRSC: element (k, r, s, c) is data[((k * height + r) * width + s) * in_channels + c].
template <class T>
struct FilterView {
  T* data = nullptr;
  int64_t out_channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t in_channels = 0;

  int64_t size() const { return saturating_product({out_channels, height, width, in_channels}); }
  template <class U>
    requires(std::is_same_v<U, const T> && !std::is_const_v<T>)
  operator FilterView<U>() const {
    return {data, out_channels, height, width, in_channels};
  }
};

// Scratch memory that a caller lends to an operation. An operation that needs some has a function that
// returns how many bytes, from the shapes alone; fewer are a bad argument, and so is a pointer that is not
// aligned to kWorkspaceAlignment. The contents need not be set, and are lost.
inline constexpr int64_t kWorkspaceAlignment = 16;
struct Workspace {
  void* data = nullptr;
  int64_t bytes = 0;
};

}  // namespace rondo
