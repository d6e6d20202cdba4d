// The checks that every operation makes on the views it is given. The messages name the operation, the
// argument, its value and what would be valid.
#pragma once

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

#include <cstdint>

namespace rondo {

// Zero elements may have any pointer; else it must not be null and must be aligned to one element.
template <class T>
Status check_pointer(const char* operation, const char* argument, const T* data, int64_t elements) {
  if (elements == 0) return {};
  if (data == nullptr)
    return bad_argument(operation, ": ", argument, " is null with ", elements, " elements");
  if (reinterpret_cast<uintptr_t>(data) % alignof(T) != 0)
    return bad_argument(operation, ": ", argument, " is at ", static_cast<const void*>(data),
                        ", must be aligned to ", alignof(T), " bytes");
  return {};
}

template <class T>
Status check_view(const char* operation, const char* argument, VectorView<T> view) {
  if (view.size < 0)
    return bad_argument(operation, ": ", argument, ".size is ", view.size, ", must not be negative");
  return check_pointer(operation, argument, view.data, view.size);
}

template <class T>
Status check_view(const char* operation, const char* argument, MatrixView<T> view) {
  if (view.rows < 0 || view.cols < 0)
    return bad_argument(operation, ": ", argument, " is ", view.rows, " x ", view.cols,
                        ", no side may be negative");
  if (view.stride < view.cols)
    return bad_argument(operation, ": ", argument, ".stride is ", view.stride,
                        ", must be at least cols = ", view.cols);
  return check_pointer(operation, argument, view.data, view.rows * view.cols);
}

template <class T>
Status check_view(const char* operation, const char* argument, ImageView<T> view) {
  if (view.images < 0 || view.height < 0 || view.width < 0 || view.channels < 0)
    return bad_argument(operation, ": ", argument, " is ", view.images, " x ", view.height, " x ", view.width,
                        " x ", view.channels, ", no side may be negative");
  return check_pointer(operation, argument, view.data, view.size());
}

inline Status check_same_shape(const char* operation, const char* argument, ImageView<const float> view,
                               const char* other_argument, ImageView<const float> other) {
  if (view.images == other.images && view.height == other.height && view.width == other.width &&
      view.channels == other.channels)
    return {};
  return bad_argument(operation, ": ", argument, " is ", view.images, " x ", view.height, " x ", view.width,
                      " x ", view.channels, ", must be ", other.images, " x ", other.height, " x ",
                      other.width, " x ", other.channels, " like ", other_argument);
}

inline Status check_workspace(const char* operation, Workspace workspace, int64_t bytes, int64_t alignment) {
  if (workspace.bytes < bytes)
    return bad_argument(operation, ": the workspace has ", workspace.bytes, " bytes, must have at least ",
                        bytes);
  if (bytes == 0) return {};
  if (workspace.data == nullptr)
    return bad_argument(operation, ": the workspace is null, must be ", bytes, " bytes");
  if (reinterpret_cast<uintptr_t>(workspace.data) % static_cast<uintptr_t>(alignment) != 0)
    return bad_argument(operation, ": the workspace is at ", workspace.data, ", must be aligned to ",
                        alignment, " bytes");
  return {};
}

}  // namespace rondo
