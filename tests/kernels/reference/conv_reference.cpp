#include <rondo/tests/kernels/reference/conv_reference.h>

#include <algorithm>

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
            const int64_t h = p * o.stride_h + r * o.dilation_h - o.pad_h,
                          w = q * o.stride_w + s * o.dilation_w - o.pad_w;
            if (h < 0 || h >= conv.h || w < 0 || w >= conv.w) continue;
            visit(size(((n * conv.h + h) * conv.w + w) * conv.c),
                  size(((n * conv.p() + p) * conv.q() + q) * conv.k), size(r * conv.s + s));
          }
}

// to[i] += factor * from[i]
void add_multiple(double* to, double factor, const double* from, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

// The sizes of a group, and the filter with the results of a product beside each other.
struct Groups {
  explicit Groups(const ConvCase& conv)
      : count(size(conv.options.groups)),
        taps(size(conv.r * conv.s)),
        c(size(conv.in_channels())),
        k(size(conv.k / conv.options.groups)) {}
  size_t count, taps, c, k;
};

}  // namespace

std::vector<double> conv2d_sums(const ConvCase& conv, std::span<const double> x,
                                std::span<const double> filter) {
  const Groups group(conv);
  std::vector<double> by_filter(filter.size());  // groups x taps x c x k
  const size_t of_filter = group.taps * group.c;
  constexpr size_t kTile = 8;  // doubles of a cache line: large filters do not stay in the cache
  for (size_t g = 0; g < group.count; ++g)
    for (size_t k0 = 0; k0 < group.k; k0 += kTile)
      for (size_t i0 = 0; i0 < of_filter; i0 += kTile)
        for (size_t k = k0; k < std::min(k0 + kTile, group.k); ++k)
          for (size_t i = i0; i < std::min(i0 + kTile, of_filter); ++i)
            by_filter[(g * of_filter + i) * group.k + k] = filter[(g * group.k + k) * of_filter + i];
  std::vector<double> y(size(conv.y_size()));
  for_each_tap(conv, [&](size_t in_x, size_t in_y, size_t tap) {
    for (size_t g = 0; g < group.count; ++g)
      for (size_t c = 0; c < group.c; ++c)
        add_multiple(&y[in_y + g * group.k], x[in_x + g * group.c + c],
                     &by_filter[((g * group.taps + tap) * group.c + c) * group.k], group.k);
  });
  return y;
}

std::vector<double> conv2d_data_gradient_sums(const ConvCase& conv, std::span<const double> dy,
                                              std::span<const double> filter) {
  const Groups group(conv);
  std::vector<double> dx(size(conv.x_size()));
  for_each_tap(conv, [&](size_t in_x, size_t in_y, size_t tap) {
    for (size_t k = 0; k < size(conv.k); ++k)
      add_multiple(&dx[in_x + k / group.k * group.c], dy[in_y + k], &filter[(k * group.taps + tap) * group.c],
                   group.c);
  });
  return dx;
}

std::vector<double> conv2d_filter_gradient_sums(const ConvCase& conv, std::span<const double> dy,
                                                std::span<const double> x) {
  const Groups group(conv);
  std::vector<double> dw(size(conv.filter_size()));
  for_each_tap(conv, [&](size_t in_x, size_t in_y, size_t tap) {
    for (size_t k = 0; k < size(conv.k); ++k)
      add_multiple(&dw[(k * group.taps + tap) * group.c], dy[in_y + k], &x[in_x + k / group.k * group.c],
                   group.c);
  });
  return dw;
}

}  // namespace rondo::test
