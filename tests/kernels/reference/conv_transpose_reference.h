// A transposed convolution in double precision, as the documentation of PyTorch's ConvTranspose2d defines it:
// each pixel of the input adds a filter to the output. It shares nothing with conv_reference.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rondo::test {

// One axis: `size` and `filter` rows; `end`: padding behind the last row.
struct TransposedAxis {
  int64_t size, filter, stride = 1, pad = 0, end = 0, dilation = 1, output_padding = 0;

  int64_t outputs() const {
    return (size - 1) * stride - pad - end + dilation * (filter - 1) + output_padding + 1;
  }
};

// x: images x h.size x w.size x in. y: images x h.outputs() x w.outputs() x out. Filters: in x h.filter x
// w.filter x out / groups.
struct TransposedCase {
  int64_t images, in, out;
  TransposedAxis h, w;
  int64_t groups = 1;

  int64_t x_size() const { return images * h.size * w.size * in; }
  int64_t y_size() const { return images * h.outputs() * w.outputs() * out; }
  int64_t filter_size() const { return in * h.filter * w.filter * (out / groups); }
};

// Calls visit(element of y, element of x, element of the filter) for every product of the sums.
template <class Visit>
void for_each_transposed_product(const TransposedCase& t, const Visit& visit) {
  const int64_t of_group = t.out / t.groups;
  for (int64_t pixel = 0; pixel < t.images * t.h.size * t.w.size; ++pixel)
    for (int64_t tap = 0; tap < t.h.filter * t.w.filter; ++tap) {
      const int64_t i = pixel / t.w.size % t.h.size * t.h.stride + tap / t.w.filter * t.h.dilation - t.h.pad,
                    j = pixel % t.w.size * t.w.stride + tap % t.w.filter * t.w.dilation - t.w.pad;
      if (i < 0 || i >= t.h.outputs() || j < 0 || j >= t.w.outputs()) continue;
      const int64_t image = pixel / t.w.size / t.h.size,
                    to = ((image * t.h.outputs() + i) * t.w.outputs() + j) * t.out;
      for (int64_t k = 0; k < t.in; ++k)
        for (int64_t c = 0; c < of_group; ++c)
          visit(static_cast<size_t>(to + k / (t.in / t.groups) * of_group + c),
                static_cast<size_t>(pixel * t.in + k),
                static_cast<size_t>((k * t.h.filter * t.w.filter + tap) * of_group + c));
    }
}

inline std::vector<double> transposed_sums(const TransposedCase& t, std::span<const double> x,
                                           std::span<const double> filter) {
  std::vector<double> y(static_cast<size_t>(t.y_size()));
  for_each_transposed_product(t, [&](size_t to, size_t from, size_t tap) { y[to] += x[from] * filter[tap]; });
  return y;
}
inline std::vector<double> transposed_data_gradient(const TransposedCase& t, std::span<const double> dy,
                                                    std::span<const double> filter) {
  std::vector<double> dx(static_cast<size_t>(t.x_size()));
  for_each_transposed_product(
      t, [&](size_t of_y, size_t of_x, size_t tap) { dx[of_x] += dy[of_y] * filter[tap]; });
  return dx;
}
inline std::vector<double> transposed_filter_gradient(const TransposedCase& t, std::span<const double> dy,
                                                      std::span<const double> x) {
  std::vector<double> dw(static_cast<size_t>(t.filter_size()));
  for_each_transposed_product(t,
                              [&](size_t of_y, size_t of_x, size_t tap) { dw[tap] += dy[of_y] * x[of_x]; });
  return dw;
}

}  // namespace rondo::test
