// A test case of a convolution, its views, and its result and gradients in double precision. All three are
// computed by one loop over the terms of the definition (conv_reference.cpp).
#pragma once

#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/conv/conv_checks.h>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <span>
#include <vector>

namespace rondo::test {

struct ConvCase {
  int64_t n, h, w, c, k, r, s;
  Conv2dOptions options{};

  int64_t p() const { return conv2d_output_sides(h, w, r, s, options).height; }
  int64_t q() const { return conv2d_output_sides(h, w, r, s, options).width; }
  int64_t in_channels() const { return c / options.groups; }  // of the filter
  int64_t x_size() const { return n * h * w * c; }
  int64_t y_size() const { return n * p() * q() * k; }
  int64_t filter_size() const { return k * r * s * in_channels(); }
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
  return {data, c.k, c.r, c.s, c.in_channels()};
}

// Throws rondo::Error if the case is not valid.
inline ConvGeometry geometry_of(const ConvCase& c) {
  ConvGeometry g = {};
  throw_if_error(check_conv2d_shapes({"test", "x", "y", "filter"}, x_view<const float>(c, nullptr),
                                     y_view<const float>(c, nullptr), filter_view<const float>(c, nullptr),
                                     c.options, &g));
  return g;
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
  const Conv2dOptions& o = c.options;
  if (o.pad_bottom || o.pad_right)
    *out << "_to" << o.pad_bottom.value_or(o.pad_h) << o.pad_right.value_or(o.pad_w);
  if (o.dilation_h != 1 || o.dilation_w != 1) *out << "_dilation" << o.dilation_h << o.dilation_w;
  if (o.groups != 1) *out << "_groups" << o.groups;
}

// The sums of the definition and their gradients. x is n x h x w x c, y is n x p x q x k, the filter is
// k x r x s x c / groups, all packed.
std::vector<double> conv2d_sums(const ConvCase& conv, std::span<const double> x,
                                std::span<const double> filter);
std::vector<double> conv2d_data_gradient_sums(const ConvCase& conv, std::span<const double> dy,
                                              std::span<const double> filter);
std::vector<double> conv2d_filter_gradient_sums(const ConvCase& conv, std::span<const double> dy,
                                                std::span<const double> x);

inline std::vector<double> in_double(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

inline std::vector<double> conv2d_reference(const ConvCase& conv, const std::vector<float>& x,
                                            const std::vector<float>& filter, const std::vector<float>& bias,
                                            bool relu) {
  std::vector<double> y = conv2d_sums(conv, in_double(x), in_double(filter));
  for (size_t i = 0; i < y.size(); ++i) {
    if (!bias.empty()) y[i] += static_cast<double>(bias[i % static_cast<size_t>(conv.k)]);
    if (relu) y[i] = std::max(y[i], 0.0);
  }
  return y;
}

inline std::vector<double> conv2d_data_gradient_reference(const ConvCase& conv, const std::vector<float>& dy,
                                                          const std::vector<float>& filter) {
  return conv2d_data_gradient_sums(conv, in_double(dy), in_double(filter));
}

inline std::vector<double> conv2d_filter_gradient_reference(const ConvCase& conv,
                                                            const std::vector<float>& dy,
                                                            const std::vector<float>& x) {
  return conv2d_filter_gradient_sums(conv, in_double(dy), in_double(x));
}

}  // namespace rondo::test
