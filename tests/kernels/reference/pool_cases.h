// Test cases of pooling, with the elements of their windows by definition.
#pragma once

#include <rondo/kernels/pool/pool.h>
#include <rondo/tests/support/inputs.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <vector>

namespace rondo::test {

struct PoolCase {
  struct Pooled {
    int64_t rows, cols;
  };

  int64_t images, height, width, channels;
  PoolWindow window;
  int offset = 0;
  std::optional<Pooled> adaptive = {};  // instead of `window`

  int64_t rows() const { return adaptive ? adaptive->rows : pooled_height(height, window); }
  int64_t cols() const { return adaptive ? adaptive->cols : pooled_width(width, window); }
  int64_t x_size() const { return images * height * width * channels; }
  int64_t y_size() const { return images * rows() * cols() * channels; }
  bool dilated() const { return window.dilation_h > 1 || window.dilation_w > 1; }
  size_t x_at(int64_t n, int64_t h, int64_t w, int64_t c) const {
    return static_cast<size_t>(((n * height + h) * width + w) * channels + c);
  }
  // The position of element x[i] in its image and channel.
  int32_t index_of(size_t i) const {
    return static_cast<int32_t>(static_cast<int64_t>(i) / channels % (height * width));
  }
  template <class T>
  ImageView<T> x_view(T* data) const {
    return {data, images, height, width, channels};
  }
  template <class T>
  ImageView<T> y_view(T* data) const {
    return {data, images, rows(), cols(), channels};
  }

  // The rows of window (p, *) and the columns of window (*, q), also those outside the image.
  std::vector<int64_t> rows_of(int64_t p) const {
    if (adaptive) return shares_of(p, adaptive->rows, height);
    return taps_of(p * window.stride_h - window.pad_h, window.height, window.dilation_h);
  }
  std::vector<int64_t> cols_of(int64_t q) const {
    if (adaptive) return shares_of(q, adaptive->cols, width);
    return taps_of(q * window.stride_w - window.pad_w, window.width, window.dilation_w);
  }

  friend std::ostream& operator<<(std::ostream& out, const PoolCase& c) {
    out << c.images << " x " << c.height << " x " << c.width << " x " << c.channels << ", offset "
        << c.offset;
    if (c.adaptive) return out << ", adaptive to " << c.adaptive->rows << " x " << c.adaptive->cols;
    return out << ", window " << c.window.height << " x " << c.window.width << ", stride "
               << c.window.stride_h << " x " << c.window.stride_w << ", padding " << c.window.pad_h << " x "
               << c.window.pad_w << ", then " << c.window.bottom() << " x " << c.window.right()
               << ", dilation " << c.window.dilation_h << " x " << c.window.dilation_w
               << (c.window.ceil_mode ? ", ceil mode" : "");
  }

 private:
  static std::vector<int64_t> taps_of(int64_t begin, int64_t count, int64_t dilation) {
    std::vector<int64_t> taps;
    for (int64_t r = 0; r < count; ++r) taps.push_back(begin + r * dilation);
    return taps;
  }
  // floor(i * size / parts) ... ceil((i + 1) * size / parts) - 1
  static std::vector<int64_t> shares_of(int64_t i, int64_t parts, int64_t size) {
    std::vector<int64_t> shares;
    for (int64_t at = i * size / parts; at * parts < (i + 1) * size; ++at) shares.push_back(at);
    return shares;
  }
};

// Calls visit(index in y, number of elements inside the padded image, indices in x of those inside the image,
// row by row) for each window and channel.
template <class Visit>
void for_each_window(const PoolCase& c, Visit visit) {
  constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max() / 2;
  const int64_t bottom = c.adaptive ? kNoEnd : c.window.bottom(),
                right = c.adaptive ? kNoEnd : c.window.right();
  size_t y = 0;
  for (int64_t n = 0; n < c.images; ++n)
    for (int64_t p = 0; p < c.rows(); ++p)
      for (int64_t q = 0; q < c.cols(); ++q)
        for (int64_t k = 0; k < c.channels; ++k) {
          std::vector<size_t> inside;
          int64_t padded = 0;
          for (const int64_t h : c.rows_of(p))
            for (const int64_t w : c.cols_of(q)) {
              padded += h < c.height + bottom && w < c.width + right;
              if (h >= 0 && h < c.height && w >= 0 && w < c.width) inside.push_back(c.x_at(n, h, w, k));
            }
          visit(y++, padded, inside);
        }
}

inline const std::vector<PoolCase> kPoolCases = {
    {3, 26, 26, 20, {2, 2, 2, 2, 0, 0}},  // LeNet's first
    {2, 8, 8, 50, {2, 2, 2, 2, 0, 0}},    // LeNet's second
    {2, 9, 7, 8, {3, 3, 2, 2, 1, 1}},     // ResNet's: windows overlap
    {2, 5, 5, 16, {5, 5, 1, 1, 0, 0}},    // global
    {1, 1, 1, 1, {1, 1, 1, 1, 0, 0}},
    {2, 7, 9, 3, {3, 2, 1, 3, 1, 0}},    // gaps between windows, odd channels
    {1, 10, 11, 5, {2, 3, 4, 5, 1, 1}},  // stride beyond the window
    {1, 6, 13, 6, {4, 5, 2, 1, 2, 2}, 1},
    {2, 4, 6, 4, {2, 2, 2, 2, 1, 1}, 1},  // whole rows of padding, misaligned
    {2, 4, 6, 4, {2, 2, 2, 2, 0, 0}, 2},
    {9, 5, 4, 2, {2, 2, 2, 2, 0, 0}},    // more images than a thread handles at once; odd sides
    {6, 3, 3, 257, {2, 2, 1, 1, 0, 0}},  // more channels than a block handles at once
    {1, 3, 151, 4, {3, 3, 1, 1, 1, 1}},  // more columns than a block handles
    {0, 4, 4, 4, {2, 2, 2, 2, 0, 0}},
    {2, 4, 4, 0, {2, 2, 2, 2, 0, 0}},
    // One number away from the window that the kernels have as a compile-time constant.
    {2, 7, 6, 4, {3, 2, 2, 2, 0, 0}},
    {2, 7, 6, 4, {1, 2, 2, 2, 0, 0}},
    {2, 6, 7, 4, {2, 3, 2, 2, 0, 0}},
    {2, 6, 7, 4, {2, 1, 2, 2, 0, 0}},
    {2, 6, 6, 4, {2, 2, 1, 2, 0, 0}},
    {2, 8, 6, 4, {2, 2, 3, 2, 0, 0}},
    {2, 6, 6, 4, {2, 2, 2, 1, 0, 0}},
    {2, 6, 8, 4, {2, 2, 2, 3, 0, 0}},
    {2, 6, 6, 4, {2, 2, 2, 2, 1, 0}},
    {2, 6, 6, 4, {2, 2, 2, 2, 0, 1}},
    {2, 6, 6, 4, {2, 2, 2, 2, 0, 0, 1, 0}},
    {2, 6, 6, 4, {2, 2, 2, 2, 0, 0, 0, 1}},
    // Ceil mode: the last window is cut off, drops out or fits.
    {2, 7, 7, 8, {2, 2, 2, 2, 0, 0, 0, 0, true}},
    {2, 7, 6, 4, {2, 2, 2, 2, 0, 0, 0, 0, true}},
    {2, 6, 7, 4, {2, 2, 2, 2, 0, 0, 0, 0, true}},
    {2, 6, 6, 4, {2, 2, 2, 2, 0, 0, 0, 0, true}},
    {2, 6, 6, 5, {3, 3, 2, 2, 0, 0, 0, 0, true}},
    {2, 5, 8, 4, {3, 3, 2, 2, 1, 1, {}, {}, true}, 1},
    {1, 6, 9, 3, {3, 4, 4, 5, 1, 2, 2, 1, true}},
    {1, 3, 3, 4, {1, 1, 5, 5, 0, 0, 0, 0, true}},
    // Padding of more than half the window.
    {2, 5, 6, 8, {4, 3, 1, 2, 3, 2}},
    {2, 5, 6, 6, {4, 3, 2, 1, 0, 2, 3, 0}, 1},
    {1, 1, 2, 4, {5, 5, 1, 1, 4, 4}},
};

// kPoolCases and drawn ones, without dilation.
inline std::vector<PoolCase> pool_cases() {
  std::vector<PoolCase> cases = kPoolCases;
  Random random(7);
  while (cases.size() < kPoolCases.size() + 60) {
    PoolWindow w = {1 + random.below(5), 1 + random.below(5), 1 + random.below(4), 1 + random.below(4)};
    w.pad_h = random.below(w.height);
    w.pad_w = random.below(w.width);
    w.pad_bottom = random.below(w.height);
    w.pad_right = random.below(w.width);
    w.ceil_mode = random.below(2) == 1;
    const PoolCase c = {1 + random.below(3),
                        1 + random.below(10),
                        1 + random.below(10),
                        1 + random.below(9),
                        w,
                        static_cast<int>(random.below(2))};
    if (c.rows() > 0 && c.cols() > 0) cases.push_back(c);
  }
  return cases;
}

// pool_cases(), and as many with dilation.
inline std::vector<PoolCase> max_pool_cases() {
  std::vector<PoolCase> cases = pool_cases();
  const auto dilated = [](int64_t side, int64_t stride, int64_t dilation, int64_t pad) {
    return PoolWindow{.height = side,
                      .width = side,
                      .stride_h = stride,
                      .stride_w = stride,
                      .pad_h = pad,
                      .pad_w = pad,
                      .dilation_h = dilation,
                      .dilation_w = dilation};
  };
  cases.push_back({2, 9, 8, 8, dilated(3, 1, 2, 2)});    // of equal size
  cases.push_back({2, 12, 11, 4, dilated(2, 2, 2, 1)});  // stride and dilation have a common divisor
  cases.push_back(
      {2, 13, 14, 4, dilated(3, 4, 6, 7)});  // the same; windows between two of an element skip it
  cases.push_back({2, 10, 9, 3, dilated(2, 1, 9, 9), 1});  // a dilation of the whole side
  cases.push_back({2, 9, 9, 8, dilated(1, 2, 5, 0)});      // a dilation that has no effect
  const size_t count = cases.size();
  Random random(8);
  while (cases.size() < count + 100) {
    PoolWindow w = {1 + random.below(4), 1 + random.below(4), 1 + random.below(6), 1 + random.below(6)};
    w.dilation_h = 1 + random.below(5);
    w.dilation_w = 1 + random.below(5);
    w.pad_h = random.below((w.height - 1) * w.dilation_h + 1);
    w.pad_w = random.below((w.width - 1) * w.dilation_w + 1);
    w.pad_bottom = random.below((w.height - 1) * w.dilation_h + 1);
    w.pad_right = random.below((w.width - 1) * w.dilation_w + 1);
    w.ceil_mode = random.below(2) == 1;
    const PoolCase c = {1 + random.below(3),
                        1 + random.below(12),
                        1 + random.below(12),
                        1 + random.below(9),
                        w,
                        static_cast<int>(random.below(2))};
    if (c.dilated() && c.rows() > 0 && c.cols() > 0) cases.push_back(c);
  }
  return cases;
}

// All sizes of a side with all numbers of its windows, on one side or the other, and drawn pairs.
inline std::vector<PoolCase> adaptive_cases() {
  std::vector<PoolCase> cases;
  for (int64_t size = 1; size < 10; ++size)
    for (int64_t windows = 1; windows < 13; ++windows) {
      cases.push_back({1, size, 1, 1, {}, 0, PoolCase::Pooled{windows, 1}});
      cases.push_back({1, 1, size, 1, {}, 0, PoolCase::Pooled{1, windows}});
    }
  Random random(9);
  for (int draw = 0; draw < 60; ++draw) {
    const auto side = [&] { return 1 + random.below(12); };
    const int64_t images = random.below(6);  // a thread has up to four
    const int64_t channels = draw % 4 == 0 ? 4 * side() : draw == 1 ? 257 : side();
    cases.push_back({images,
                     side(),
                     side(),
                     channels,
                     {},
                     static_cast<int>(random.below(2)),
                     PoolCase::Pooled{side(), side()}});
  }
  cases.push_back({2, 14, 14, 32, {}, 0, PoolCase::Pooled{7, 7}});   // windows of 2 x 2
  cases.push_back({2, 4, 151, 4, {}, 0, PoolCase::Pooled{3, 140}});  // more columns than a block handles
  cases.push_back({2, 4, 4, 0, {}, 0, PoolCase::Pooled{3, 3}});
  return cases;
}

// A NaN is the maximum, and the first of equal elements.
struct MaxPoolReference {
  std::vector<float> y;
  std::vector<int32_t> indices;
  std::vector<double> dx;
};
inline MaxPoolReference max_pool_reference(const PoolCase& c, const std::vector<float>& x,
                                           const std::vector<float>& dy) {
  MaxPoolReference reference = {std::vector<float>(dy.size()), std::vector<int32_t>(dy.size()),
                                std::vector<double>(x.size())};
  for_each_window(c, [&](size_t y, int64_t, const std::vector<size_t>& inside) {
    size_t best = inside[0];
    for (const size_t i : inside)
      if (!std::isnan(x[best]) && (x[i] > x[best] || std::isnan(x[i]))) best = i;
    reference.y[y] = x[best];
    reference.indices[y] = c.index_of(best);
    reference.dx[best] += dy[y];
  });
  return reference;
}

// -1, 0 and 1: many ties and zeros.
inline std::vector<float> tied_values(int64_t count, uint64_t seed) {
  Random random(seed);
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(random.below(3)) - 1);
  return values;
}

}  // namespace rondo::test
