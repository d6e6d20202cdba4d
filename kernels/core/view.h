// Views: plain, non-owning descriptions of device memory, passed by value. A view of T converts to a view of
// const T, so an output can be passed as an input; the reverse does not compile. An optional operand is
// omitted by passing an empty view, {}: a null pointer and no elements.
//
// Unless an operation documents otherwise (the collectives do), its memory and its stream belong to the
// device that is current at the call.
#pragma once

#include <rondo/kernels/core/size.h>

#include <cstdint>
#include <type_traits>

namespace rondo {

// `size` contiguous elements.
template <class T>
struct VectorView {
  T* data = nullptr;
  int64_t size = 0;

  template <class U>
  requires(std::is_same_v<U, const T> && !std::is_const_v<T>) operator VectorView<U>() const {
    return {data, size};
  }
};

// A row-major matrix, rows x cols. Element (i, j) is data[i * stride + j]. `stride` (the leading dimension)
// is in elements and at least cols; the default is cols.
template <class T>
struct MatrixView {
  T* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = cols;

  template <class U>
  requires(std::is_same_v<U, const T> && !std::is_const_v<T>) operator MatrixView<U>() const {
    return {data, rows, cols, stride};
  }
};

template <class T>
MatrixView<T> matrix(T* data, int64_t rows, int64_t cols) {
  return {data, rows, cols, cols};
}

// `batches` row-major matrices of one shape. Element (i, j) of matrix b is
// data[b * batch_stride + i * stride + j]. The default is packed. Inputs may have a batch_stride of 0: one
// matrix for all.
template <class T>
struct MatrixBatchView {
  T* data = nullptr;
  int64_t batches = 0;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = cols;
  int64_t batch_stride = saturating_product({rows, stride});

  template <class U>
  requires(std::is_same_v<U, const T> && !std::is_const_v<T>) operator MatrixBatchView<U>() const {
    return {data, batches, rows, cols, stride, batch_stride};
  }
};

// `batches` row-major matrices of one shape, each at an address of its own. `data` is an array of `batches`
// pointers in device memory. Element (i, j) of matrix b is data[b][i * stride + j].
template <class T>
struct MatrixPointersView {
  T* const* data = nullptr;
  int64_t batches = 0;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = cols;

  template <class U>
  requires(std::is_same_v<U, const T> && !std::is_const_v<T>) operator MatrixPointersView<U>() const {
    return {data, batches, rows, cols, stride};
  }
};

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
  requires(std::is_same_v<U, const T> && !std::is_const_v<T>) operator ImageView<U>() const {
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
  requires(std::is_same_v<U, const T> && !std::is_const_v<T>) operator FilterView<U>() const {
    return {data, out_channels, height, width, in_channels};
  }
};

// A parameter of an operator template that the type of elements is not deduced from. Views of T and empty
// views convert to it.
template <class View>
using NonDeduced = std::type_identity_t<View>;

// Scratch memory that the caller provides. An operation that needs a workspace has a function that computes
// its size in bytes from the shapes. A smaller workspace, or a pointer that is not aligned to
// kWorkspaceAlignment, is a bad argument. The contents need not be initialised, and are overwritten.
inline constexpr int64_t kWorkspaceAlignment = 16;
struct Workspace {
  void* data = nullptr;
  int64_t bytes = 0;
};

}  // namespace rondo
