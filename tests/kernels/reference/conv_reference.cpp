#include <rondo/tests/kernels/reference/conv_reference.h>

namespace rondo::test {
namespace {

size_t size(int64_t value) { return static_cast<size_t>(value); }

// Calls visit(first element in x, first element in y, tap of the filter) for every pair of pixels in the
// definition's sums. Each pair stands for c x k products.
template <class Visit>
void for_each_tap(const ConvCase& conv, Visit visit) {
  const Conv2dOptions& o = conv.options;
  if (conv.c == 0 || conv.k == 0) return;  // no element to refer to
  for (int64_t n = 0; n < conv.n; ++n)
    for (int64_t p = 0; p < conv.p(); ++p)
      for (int64_t q = 0; q < conv.q(); ++q)
        for (int64_t r = 0; r < conv.r; ++r)
          for (int64_t s = 0; s < conv.s; ++s) {
            const int64_t h = p * o.stride_h + r - o.pad_h, w = q * o.stride_w + s - o.pad_w;
            if (h < 0 || h >= conv.h || w < 0 || w >= conv.w) continue;
            visit(size(((n * conv.h + h) * conv.w + w) * conv.c),
                  size(((n * conv.p() + p) * conv.q() + q) * conv.k), size(r * conv.s + s));
          }
}

// to[i] += factor * from[i]
void add_multiple(double* to, double factor, const double* from, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

}  // namespace

std::vector<double> conv2d_sums(const ConvCase& conv, std::span<const double> x,
                                std::span<const double> filter) {
  const size_t taps = size(conv.r * conv.s), channels = size(conv.c), filters = size(conv.k);
  std::vector<double> by_filter(filter.size());  // taps x c x k
  for (size_t k = 0; k < filters; ++k)
    for (size_t i = 0; i < taps * channels; ++i) by_filter[i * filters + k] = filter[k * taps * channels + i];
  std::vector<double> y(size(conv.y_size()));
  for_each_tap(conv, [&](size_t in_x, size_t in_y, size_t tap) {
    for (size_t c = 0; c < channels; ++c)
      add_multiple(&y[in_y], x[in_x + c], &by_filter[(tap * channels + c) * filters], filters);
  });
  return y;
}

std::vector<double> conv2d_data_gradient_sums(const ConvCase& conv, std::span<const double> dy,
                                              std::span<const double> filter) {
  const size_t taps = size(conv.r * conv.s), channels = size(conv.c);
  std::vector<double> dx(size(conv.x_size()));
  for_each_tap(conv, [&](size_t in_x, size_t in_y, size_t tap) {
    for (size_t k = 0; k < size(conv.k); ++k)
      add_multiple(&dx[in_x], dy[in_y + k], &filter[(k * taps + tap) * channels], channels);
  });
  return dx;
}

std::vector<double> conv2d_filter_gradient_sums(const ConvCase& conv, std::span<const double> dy,
                                                std::span<const double> x) {
  const size_t taps = size(conv.r * conv.s), channels = size(conv.c);
  std::vector<double> dw(size(conv.filter_size()));
  for_each_tap(conv, [&](size_t in_x, size_t in_y, size_t tap) {
    for (size_t k = 0; k < size(conv.k); ++k)
      add_multiple(&dw[(k * taps + tap) * channels], dy[in_y + k], &x[in_x], channels);
  });
  return dw;
}

}  // namespace rondo::test
