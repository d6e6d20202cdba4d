#include <rondo/bench/operators/conv_sample.h>
#include <rondo/bench/timing/inputs.h>

#include <cmath>

namespace rondo::bench {
namespace {

// The index function of a four-dimensional tensor, with channels last or first.
struct Index {
  Channels channels;
  int64_t rows, cols, depth;

  size_t operator()(int64_t image, int64_t row, int64_t col, int64_t channel) const {
    return static_cast<size_t>(channels == Channels::last
                                   ? ((image * rows + row) * cols + col) * depth + channel
                                   : ((image * depth + channel) * rows + row) * cols + col);
  }
};

struct Sum {
  double value = 0;
  double magnitude = 0;

  void add(double a, double b) {
    value += a * b;
    magnitude += std::abs(a * b);
  }
};

}  // namespace

bool is_convolution(const ConvLayer& l, ConvOp op, Channels channels, const std::vector<float>& x,
                    const std::vector<float>& y, const std::vector<float>& filter, double rounding) {
  const Index at_x = {channels, l.h, l.w, l.c}, at_y = {channels, l.p(), l.q(), l.k},
              at_filter = {channels, l.r, l.s, l.group_channels()};
  const auto inside = [&](int64_t h, int64_t w) { return h >= 0 && h < l.h && w >= 0 && w < l.w; };

  bench::Random random(4);
  const int64_t group_c = l.group_channels(), group_k = l.k / l.groups;
  for (int sample = 0; sample < 50; ++sample) {
    // An output channel, and an input channel of its group.
    const int64_t n = random.below(l.n), k = random.below(l.k), group = k / group_k,
                  d = random.below(group_c), c = group * group_c + d;
    Sum sum;
    float found = 0;
    if (op == ConvOp::forward) {
      const int64_t p = random.below(l.p()), q = random.below(l.q());
      for (int64_t r = 0; r < l.r; ++r)
        for (int64_t s = 0; s < l.s; ++s) {
          const int64_t h = p * l.stride + r * l.dilation - l.pad, w = q * l.stride + s * l.dilation - l.pad;
          if (!inside(h, w)) continue;
          for (int64_t e = 0; e < group_c; ++e)
            sum.add(x[at_x(n, h, w, group * group_c + e)], filter[at_filter(k, r, s, e)]);
        }
      found = y[at_y(n, p, q, k)];
    } else if (op == ConvOp::data_gradient) {
      const int64_t h = random.below(l.h), w = random.below(l.w);
      for (int64_t r = 0; r < l.r; ++r)
        for (int64_t s = 0; s < l.s; ++s) {
          const int64_t row = h + l.pad - r * l.dilation, col = w + l.pad - s * l.dilation;
          if (row < 0 || col < 0 || row % l.stride != 0 || col % l.stride != 0) continue;
          const int64_t p = row / l.stride, q = col / l.stride;
          if (p >= l.p() || q >= l.q()) continue;
          for (int64_t e = group * group_k; e < (group + 1) * group_k; ++e)
            sum.add(y[at_y(n, p, q, e)], filter[at_filter(e, r, s, d)]);
        }
      found = x[at_x(n, h, w, c)];
    } else {
      const int64_t r = random.below(l.r), s = random.below(l.s);
      for (int64_t image = 0; image < l.n; ++image)
        for (int64_t p = 0; p < l.p(); ++p)
          for (int64_t q = 0; q < l.q(); ++q) {
            const int64_t h = p * l.stride + r * l.dilation - l.pad,
                          w = q * l.stride + s * l.dilation - l.pad;
            if (inside(h, w)) sum.add(x[at_x(image, h, w, c)], y[at_y(image, p, q, k)]);
          }
      found = filter[at_filter(k, r, s, d)];
    }
    if (!(std::abs(found - sum.value) <= (3 * rounding + 1e-5) * sum.magnitude)) return false;
  }
  return true;
}

}  // namespace rondo::bench
