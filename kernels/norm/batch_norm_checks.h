// What batch normalisation checks before it starts anything.
#pragma once

#include <rondo/kernels/core/check.h>

namespace rondo::norm {

// Packed, with as many columns as the layer has channels.
inline Status check_matrix(const char* operation, const char* argument, MatrixView<const float> view,
                           int64_t rows, int64_t channels) {
  RONDO_RETURN_IF_ERROR(check_view(operation, argument, view));
  if (view.rows != rows || view.cols != channels)
    return bad_argument(operation, ": ", argument, " is ", view.rows, " x ", view.cols, ", must be ", rows,
                        " x ", channels);
  if (view.rows > 1 && view.stride != view.cols)
    return bad_argument(operation, ": ", argument, ".stride is ", view.stride,
                        ", must be cols = ", view.cols);
  return {};
}

template <class T>
Status check_channels(const char* operation, const char* argument, VectorView<T> view, int64_t size) {
  RONDO_RETURN_IF_ERROR(check_view(operation, argument, view));
  if (view.size == size) return {};
  return bad_argument(operation, ": ", argument, ".size is ", view.size, ", must be ", size);
}

// A vector that may be left out.
template <class T>
Status check_optional(const char* operation, const char* argument, VectorView<T> view, int64_t size) {
  return view.data == nullptr ? Status() : check_channels(operation, argument, view, size);
}

inline Status check_channel_count(const char* operation, int64_t channels) {
  constexpr int64_t kMost = int64_t{1} << 20;  // 32 a block: the grid's second side has 65535 blocks
  if (channels <= kMost) return {};
  return bad_argument(operation, ": there are ", channels, " channels, must be at most ", kMost);
}

inline Status check_count(const char* operation, int64_t count) {
  if (count >= 1) return {};
  return bad_argument(operation, ": count is ", count, ", must be at least 1");
}

inline Status check_eps(const char* operation, float eps) {
  if (eps >= 0 && eps < 1) return {};  // NaN fails both
  return bad_argument(operation, ": eps is ", eps, ", must be at least 0 and below 1");
}

}  // namespace rondo::norm
