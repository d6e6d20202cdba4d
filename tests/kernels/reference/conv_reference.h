// A test case of a convolution, its views, and its result and gradients in double precision. All three are
// computed from one loop over the terms of the definition.
#pragma once

#include <rondo/kernels/conv/conv2d.h>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <vector>

namespace rondo::test {

struct ConvCase {
  int64_t n, h, w, c, k, r, s;
  Conv2dOptions options{};

  int64_t p() const { return conv2d_output_size(h, r, options.stride_h, options.pad_h); }
  int64_t q() const { return conv2d_output_size(w, s, options.stride_w, options.pad_w); }
  int64_t x_size() const { return n * h * w * c; }
  int64_t y_size() const { return n * p() * q() * k; }
  int64_t filter_size() const { return k * r * s * c; }
};

template <class T>
ImageView<T> x_view(const ConvCase& c, T* data) {
  return {data, c.n, c.h, c.w, c.c};
}
template <class T>
ImageView<T> y_view(const ConvCase& c, T* data) {
  return {data, c.n, c.p(), c.q(), c.k};
}
template <class T>
FilterView<T> filter_view(const ConvCase& c, T* data) {
  return {data, c.k, c.r, c.s, c.c};
}

inline Conv2dWorkspaceBytes workspace_bytes(const ConvCase& c) {
  return conv2d_workspace_bytes(x_view<const float>(c, nullptr), filter_view<const float>(c, nullptr),
                                c.options);
}

// GoogleTest prints a case with this; the text is also the test's name.
inline void PrintTo(const ConvCase& c, std::ostream* out) {
  *out << "n" << c.n << "_" << c.h << "x" << c.w << "x" << c.c << "_k" << c.k << "_" << c.r << "x" << c.s
       << "_stride" << c.options.stride_h << c.options.stride_w << "_pad" << c.options.pad_h
       << c.options.pad_w;
}

// Calls visit(index in x, index in y, index in the filter) for every product in the definition's sums.
template <class Visit>
void for_each_term(const ConvCase& conv, Visit visit) {
  const Conv2dOptions& o = conv.options;
  for (int64_t n = 0; n < conv.n; ++n)
    for (int64_t p = 0; p < conv.p(); ++p)
      for (int64_t q = 0; q < conv.q(); ++q)
        for (int64_t r = 0; r < conv.r; ++r)
          for (int64_t s = 0; s < conv.s; ++s) {
            const int64_t h = p * o.stride_h + r - o.pad_h, w = q * o.stride_w + s - o.pad_w;
            if (h < 0 || h >= conv.h || w < 0 || w >= conv.w) continue;
            for (int64_t k = 0; k < conv.k; ++k)
              for (int64_t c = 0; c < conv.c; ++c)
                visit(static_cast<size_t>(((n * conv.h + h) * conv.w + w) * conv.c + c),
                      static_cast<size_t>(((n * conv.p() + p) * conv.q() + q) * conv.k + k),
                      static_cast<size_t>(((k * conv.r + r) * conv.s + s) * conv.c + c));
          }
}

inline std::vector<double> conv2d_reference(const ConvCase& conv, const std::vector<float>& x,
                                            const std::vector<float>& filter, const std::vector<float>& bias,
                                            bool relu) {
  std::vector<double> y(static_cast<size_t>(conv.y_size()));
  for_each_term(conv, [&](size_t in_x, size_t in_y, size_t in_filter) {
    y[in_y] += static_cast<double>(x[in_x]) * static_cast<double>(filter[in_filter]);
  });
  for (size_t i = 0; i < y.size(); ++i) {
    if (!bias.empty()) y[i] += static_cast<double>(bias[i % static_cast<size_t>(conv.k)]);
    if (relu) y[i] = std::max(y[i], 0.0);
  }
  return y;
}

inline std::vector<double> conv2d_data_gradient_reference(const ConvCase& conv, const std::vector<float>& dy,
                                                          const std::vector<float>& filter) {
  std::vector<double> dx(static_cast<size_t>(conv.x_size()));
  for_each_term(conv, [&](size_t in_x, size_t in_y, size_t in_filter) {
    dx[in_x] += static_cast<double>(dy[in_y]) * static_cast<double>(filter[in_filter]);
  });
  return dx;
}

inline std::vector<double> conv2d_filter_gradient_reference(const ConvCase& conv,
                                                            const std::vector<float>& dy,
                                                            const std::vector<float>& x) {
  std::vector<double> dw(static_cast<size_t>(conv.filter_size()));
  for_each_term(conv, [&](size_t in_x, size_t in_y, size_t in_filter) {
    dw[in_filter] += static_cast<double>(dy[in_y]) * static_cast<double>(x[in_x]);
  });
  return dw;
}

}  // namespace rondo::test
