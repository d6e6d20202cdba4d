// Transposed copies and conversions of layouts, whose elements must be those of the definition, bit for bit.
#include <gtest/gtest.h>

#include <rondo/kernels/layout/transpose.h>
#include <rondo/tests/kernels/narrow_operands.h>

#include <bit>
#include <type_traits>

namespace rondo::test {
namespace {

template <class T>
class Layout : public testing::Test {
 protected:
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>;

  // All bit patterns, of NaN too.
  std::vector<T> draw(int64_t size) {
    std::vector<T> values;
    for (int64_t i = 0; i < size; ++i) values.push_back(std::bit_cast<T>(static_cast<Bits>(random.next())));
    return values;
  }
  // Even sides and offsets are drawn in half of the cases, which the 16-bit types copy in pairs.
  int64_t side(int64_t most) { return even ? 2 * (1 + random.below(most / 2)) : 1 + random.below(most); }
  int64_t below(int64_t most) { return even ? 2 * random.below(most / 2) : random.below(most); }

  static testing::AssertionResult same(const std::vector<T>& found, const std::vector<T>& wanted) {
    if (found.size() != wanted.size()) return testing::AssertionFailure() << found.size() << " elements";
    for (size_t i = 0; i < found.size(); ++i)
      if (std::bit_cast<Bits>(found[i]) != std::bit_cast<Bits>(wanted[i]))
        return testing::AssertionFailure() << "element " << i << " differs";
    return testing::AssertionSuccess();
  }
  // The views have no data; their operands begin `y_offset` and `x_offset` elements after an aligned address.
  void check_transpose(MatrixBatchView<T> y, MatrixBatchView<const T> x, int64_t y_offset, int64_t x_offset) {
    const std::vector<T> values = draw((x.batches - 1) * x.batch_stride + x.rows * x.stride);
    std::vector<T> wanted = draw(y.batches * y.batch_stride);  // what lies between the rows of y stays
    const GuardedBuffer<T> in(values, x_offset);
    GuardedBuffer<T> out(wanted, y_offset);
    x.data = in.data(), y.data = out.data();
    ASSERT_TRUE(ok(transpose(y, x, stream)));
    for (int64_t b = 0; b < x.batches; ++b)
      for (int64_t i = 0; i < x.rows; ++i)
        for (int64_t j = 0; j < x.cols; ++j)
          wanted[static_cast<size_t>(b * y.batch_stride + j * y.stride + i)] =
              values[static_cast<size_t>(b * x.batch_stride + i * x.stride + j)];
    EXPECT_TRUE(same(out.download(), wanted));
  }

  Random random{21};
  bool even = false;
  Stream stream;
};
using AllTypes = testing::Types<float, __nv_bfloat16, __half>;
TYPED_TEST_SUITE(Layout, AllTypes, NameOfType);

TYPED_TEST(Layout, TransposesDrawnBatches) {
  for (int draw = 0; draw < 120; ++draw) {
    this->even = draw % 2 == 0;
    const int64_t most = draw % 3 == 0 ? 150 : 40;
    const int64_t batches = 1 + this->random.below(3), rows = this->side(most), cols = this->side(most);
    const bool repeated = draw % 5 == 0;  // one x for all matrices of y
    const int64_t x_stride = cols + this->below(6), y_stride = rows + this->below(6);
    const int64_t x_batch = repeated ? 0 : rows * x_stride + this->below(6),
                  y_batch = cols * y_stride + this->below(6);
    SCOPED_TRACE(concat(batches, " x ", rows, " x ", cols, ", strides ", x_stride, " and ", y_stride));
    this->check_transpose({nullptr, batches, cols, rows, y_stride, y_batch},
                          {nullptr, batches, rows, cols, x_stride, x_batch}, this->below(8), this->below(8));
  }
}

// Each of the following odd or misaligned alone, so that a 16-bit copy in pairs would be wrong: a side, a
// stride, a distance between matrices, a pointer.
TYPED_TEST(Layout, OneOddProperty) {
  for (int odd = 0; odd < 8; ++odd) {
    SCOPED_TRACE(odd);
    const auto more = [&](int which) { return odd == which ? 1 : 0; };
    const int64_t rows = 34 + more(0), cols = 70 + more(1), x_stride = 72 + more(2), y_stride = 36 + more(3),
                  x_batch = x_stride * 36 + more(4), y_batch = y_stride * 72 + more(5);
    this->check_transpose({nullptr, 2, cols, rows, y_stride, y_batch},
                          {nullptr, 2, rows, cols, x_stride, x_batch}, more(7), more(6));
  }
}

// OIHW filters are to KRSC filters what NCHW images are to NHWC images.
TYPED_TEST(Layout, ConvertsImagesAndFilters) {
  using T = TypeParam;
  for (int draw = 0; draw < 60; ++draw) {
    this->even = draw % 2 == 0;
    const int64_t n = this->side(4), h = this->side(9), w = this->side(9), c = this->side(draw % 3 ? 8 : 70);
    SCOPED_TRACE(concat(n, " x ", h, " x ", w, " x ", c));
    const int64_t size = n * h * w * c;
    const std::vector<T> planes = this->draw(size);
    std::vector<T> pixels(planes.size());
    for (int64_t i = 0; i < n; ++i)
      for (int64_t y = 0; y < h; ++y)
        for (int64_t x = 0; x < w; ++x)
          for (int64_t j = 0; j < c; ++j)
            pixels[static_cast<size_t>(((i * h + y) * w + x) * c + j)] =
                planes[static_cast<size_t>(((i * c + j) * h + y) * w + x)];
    const GuardedBuffer<T> channels_first(planes, this->below(8)), channels_last(pixels, this->below(8));
    GuardedBuffer<T> out(size, this->below(8)), back(size, this->below(8));
    ASSERT_TRUE(ok(nchw_to_nhwc<T>({out.data(), n, h, w, c}, {channels_first.data(), size}, this->stream)));
    ASSERT_TRUE(ok(nhwc_to_nchw<T>(back.view(), {channels_last.data(), n, h, w, c}, this->stream)));
    EXPECT_TRUE(this->same(out.download(), pixels));
    EXPECT_TRUE(this->same(back.download(), planes));
    GuardedBuffer<T> krsc(size, this->below(8)), oihw(size, this->below(8));
    ASSERT_TRUE(ok(oihw_to_krsc<T>({krsc.data(), n, h, w, c}, {channels_first.data(), size}, this->stream)));
    ASSERT_TRUE(ok(krsc_to_oihw<T>(oihw.view(), {channels_last.data(), n, h, w, c}, this->stream)));
    EXPECT_TRUE(this->same(krsc.download(), pixels));
    EXPECT_TRUE(this->same(oihw.download(), planes));
  }
}

TEST(LayoutArguments, EmptyOperands) {
  const Stream stream;
  float some[1] = {};
  EXPECT_TRUE(ok(transpose({some, 0, 3, 2}, {some, 0, 2, 3}, stream)));
  EXPECT_TRUE(ok(transpose({some, 2, 0, 2}, {some, 2, 2, 0}, stream)));
  EXPECT_TRUE(ok(nchw_to_nhwc({some, 2, 0, 3, 4}, {some, 0}, stream)));
  EXPECT_TRUE(ok(krsc_to_oihw({some, 0}, {some, 2, 3, 3, 0}, stream)));
}

TEST(LayoutArguments, UnequalSizes) {
  const Stream stream;
  GuardedBuffer<float> x(24, 1), y(24, 1);
  EXPECT_TRUE(refused(transpose({y.data(), 1, 4, 6}, {x.data(), 1, 4, 6}, stream), "transposed x"));
  EXPECT_TRUE(refused(transpose({y.data(), 2, 4, 3}, {x.data(), 1, 3, 4}, stream), "transposed x"));
  EXPECT_TRUE(refused(nchw_to_nhwc({y.data(), 1, 2, 3, 4}, {x.data(), 23}, stream), "23"));
  EXPECT_TRUE(refused(nhwc_to_nchw({y.data(), 23}, {x.data(), 1, 2, 3, 4}, stream), "23"));
  EXPECT_TRUE(refused(oihw_to_krsc({y.data(), 1, 2, 3, 4}, {x.data(), 23}, stream), "23"));
  EXPECT_TRUE(refused(krsc_to_oihw({y.data(), 23}, {x.data(), 1, 2, 3, 4}, stream), "23"));
}

}  // namespace
}  // namespace rondo::test
