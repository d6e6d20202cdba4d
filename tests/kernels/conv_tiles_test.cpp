// How convolutions by wgmma are split into tiles. These are pure functions, so no device is needed.
#include <gtest/gtest.h>

#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>
#include <rondo/kernels/conv/implicit_gemm/wgmma/pixel_box.h>
#include <rondo/kernels/conv/implicit_gemm/wgmma/wgmma_conv.h>
#include <rondo/tests/kernels/convolutions_by_tile.h>
#include <rondo/tests/kernels/reference/conv_reference.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/kernels/conv/implicit_gemm/taps.cuh>
#include <rondo/kernels/conv/implicit_gemm/wgmma/im2col_axis.cuh>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <vector>

namespace rondo::test {
namespace {

constexpr Conv2dOptions kPadded = {.pad_h = 1, .pad_w = 1},
                        kStrided = {.stride_h = 2, .stride_w = 2, .pad_h = 1, .pad_w = 1};
constexpr WgmmaConvPixels kBoxPixels = WgmmaConvPixels::box, kIm2colPixels = WgmmaConvPixels::im2col;

// Those of a tile of 128 rows by wgmma.
std::optional<int> columns_of(const std::optional<TileId>& tile) {
  if (!tile) return std::nullopt;
  EXPECT_EQ(tile->instruction, Instruction::wgmma);
  EXPECT_EQ(tile->m, 128);
  return tile->n;
}

// Math::tf32 and tf32x3 take these kernels where the estimated time is less: in the layers of ResNet-18. The
// widest tile of tf32x3 is 128 x 128.
TEST(ConvFloat, WgmmaIsChosen) {
  struct Layer {
    int64_t size, channels;
    int tf32, tf32x3;  // columns
  };
  constexpr Layer kLayers[] = {{28, 64, 64, 64}, {14, 128, 128, 128}, {7, 256, 256, 128}};
  const DeviceProperties h100 = {.multiprocessors = 132, .shared_bytes_per_block = 227 << 10, .wgmma = true};
  for (const Layer& layer : kLayers) {
    const ConvGeometry g =
        geometry_of({256, layer.size, layer.size, layer.channels, layer.channels, 3, 3, kPadded});
    for (const ConvOperation operation : {ConvOperation::forward, ConvOperation::data_gradient}) {
      SCOPED_TRACE(concat(layer.size, ", operation ", static_cast<int>(operation)));
      EXPECT_EQ(choose_wgmma_conv_tile(operation, g, 1, mma_tile(Arithmetic::tf32, 128, 128), h100),
                wgmma_tile(Arithmetic::tf32, 128, layer.tf32));
      EXPECT_EQ(choose_wgmma_conv_tile(operation, g, 1, mma_tile(Arithmetic::tf32x3, 128, 128), h100),
                wgmma_tile(Arithmetic::tf32x3, 128, layer.tf32x3));
    }
  }
}

// Every pixel is in one box, and the box has the pixels of a tile.
TEST(PixelBox, CoversImages) {
  for (const int pixels : {64, 128})
    for (const int w : {1, 3, 7, 28, 33})
      for (const int h : {1, 5, 14, 32})
        for (const int images : {1, 6, 256}) {
          const PixelBox box = choose_pixel_box(pixels, w, h, images);
          ASSERT_EQ(box.pixels(), pixels);
          const BoxGrid grid(box, w, h, images);
          std::vector<int> count(static_cast<size_t>(w * h * images));
          for (int64_t number = 0; number < grid.size(); ++number) {
            const ImagePixel from = grid.origin(static_cast<int>(number));
            for (int pixel = 0; pixel < pixels; ++pixel) {
              const ImagePixel in_box = grid.in_box(pixel);
              ASSERT_EQ((in_box.image * box.h + in_box.h) * box.w + in_box.w, pixel);
              const int x = from.w + in_box.w, y = from.h + in_box.h, image = from.image + in_box.image;
              if (x < w && y < h && image < images) ++count[static_cast<size_t>((image * h + y) * w + x)];
            }
          }
          EXPECT_EQ(std::ranges::count(count, 1), std::ssize(count)) << w << " x " << h << " x " << images;
        }
  // The images of ResNet-18 fill their boxes.
  for (const int size : {28, 14, 7, 4}) {
    const BoxGrid grid(choose_pixel_box(128, size, size, 256), size, size, 256);
    EXPECT_EQ(grid.size() * 128, int64_t{256} * size * size) << size;
  }
}

// The bounding box has a base for each row and no other. Each tap is at its offset from it.
TEST(Im2colAxis, HasTheRowsAndTaps) {
  Random random(14);
  for (int draw = 0; draw < 2000; ++draw) {
    const int filter = static_cast<int>(1 + random.below(7)),
              dilation = static_cast<int>(1 + random.below(4)), covered = (filter - 1) * dilation + 1,
              pad = static_cast<int>(random.below(filter + 1)),
              x = static_cast<int>(covered + random.below(30)),
              stride = static_cast<int>(1 + random.below(4)), y = (x + 2 * pad - covered) / stride + 1;
    const bool forward = random.below(2) == 0;
    const Axis axis = forward ? forward_axis(x, y, filter, stride, pad, dilation)
                              : backward_axis(x, x + 2 * pad - covered + 1, filter, 1, pad, dilation, 0);
    SCOPED_TRACE(concat(x, ", filter ", filter, ", stride ", stride, ", pad ", pad, ", dilation ", dilation,
                        forward ? "" : ", dx"));
    ASSERT_TRUE(im2col_fits(axis));
    std::vector<int> bases;
    for (int base = lower_corner(axis); base <= axis.size - 1 + upper_corner(axis); base += axis.from_step)
      bases.push_back(base);
    ASSERT_EQ(std::ssize(bases), axis.rows);
    for (int row = 0; row < axis.rows; ++row) {
      ASSERT_EQ(filter_base(axis, row), bases[static_cast<size_t>(row)]);
      for (int tap = 0; tap < axis.taps; ++tap) {
        ASSERT_GE(filter_offset(axis, tap), 0);
        // As y[p] sums x[p * stride - pad + t * dilation], and dx[h] sums dy[h + pad - t * dilation].
        ASSERT_EQ(filter_base(axis, row) + filter_offset(axis, tap),
                  forward ? row * stride - pad + tap * dilation : row + pad - tap * dilation);
      }
    }
  }
}

// Over the phases of a data gradient, each pixel of x sums each pixel of y whose taps read it, once, and
// taps_between() has the taps that are inside of dy, for single rows exactly.
TEST(Axis, HasThePairsOfTheDefinition) {
  Random random(15);
  for (int draw = 0; draw < 2000; ++draw) {
    const int filter = static_cast<int>(1 + random.below(6)),
              dilation = static_cast<int>(1 + random.below(6)), covered = (filter - 1) * dilation + 1,
              stride = static_cast<int>(1 + random.below(6)),
              pad = static_cast<int>(random.below(covered + 1)),
              x = static_cast<int>(covered + random.below(12)), y = (x + 2 * pad - covered) / stride + 1;
    SCOPED_TRACE(concat(x, ", filter ", filter, ", stride ", stride, ", pad ", pad, ", dilation ", dilation));
    std::set<std::array<int, 3>> want, of_y, of_dx;  // pixel of x, pixel of y, tap
    for (int p = 0; p < y; ++p)
      for (int tap = 0; tap < filter; ++tap)
        if (const int h = p * stride - pad + tap * dilation; h >= 0 && h < x) want.insert({h, p, tap});
    const auto visit = [](const Axis& axis, const auto& found) {
      for (int row = 0; row < axis.rows; ++row) {
        const TapRange taps = taps_between(axis, row, row);
        for (int t = 0; t < axis.taps; ++t) {
          const int from = axis.from_first + row * axis.from_step + t * axis.tap_distance;
          const bool inside = from >= 0 && from < axis.size;
          EXPECT_EQ(inside, t >= taps.begin && t < taps.begin + taps.count) << "row " << row << ", tap " << t;
          if (inside) found(axis.to_first + row * axis.to_step, from, axis.tap_first + t * axis.tap_step);
        }
      }
    };
    visit(forward_axis(x, y, filter, stride, pad, dilation), [&](int to, int from, int tap) {
      EXPECT_TRUE(of_y.insert({from, to, tap}).second);
    });
    for (int phase = 0; phase < phases_of(x, stride); ++phase)
      visit(backward_axis(x, y, filter, stride, pad, dilation, phase), [&](int to, int from, int tap) {
        EXPECT_TRUE(of_dx.insert({to, from, tap}).second);
      });
    EXPECT_EQ(of_y, want);
    EXPECT_EQ(of_dx, want);
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

// Rows of tiles, of which a box has more where the sides are no multiples of its own.
TEST(WgmmaConv, ConsecutivePixelsWhereTheyVisitFewerTaps) {
  struct Expected {
    ConvCase c;
    int64_t boxes, im2col;  // tiles
    WgmmaConvPixels chosen;
  };
  const auto square = [](int64_t images, int64_t size, int64_t filter) {
    return ConvCase{images, size, size, 64, 64, filter, filter, {.pad_h = filter / 2, .pad_w = filter / 2}};
  };
  const Expected all[] = {
      {square(32, 7, 1), 14, 13, kIm2colPixels},
      // A box of a row: the first and the last one have 2 of 3 rows of taps. 14 * 9 * 19 / 21 < 13 * 9.
      {square(32, 7, 3), 14, 13, kBoxPixels},
      {square(64, 7, 3), 28, 25, kIm2colPixels},
      {square(256, 7, 3), 98, 98, kBoxPixels},
      {square(4, 5, 3), 2, 1, kIm2colPixels},
      {square(32, 5, 3), 9, 7, kIm2colPixels},
      {square(8, 13, 3), 13, 11, kIm2colPixels},
      {square(2, 13, 3), 4, 3, kIm2colPixels},
      {square(8, 14, 3), 14, 13, kIm2colPixels},
      {square(256, 14, 3), 392, 392, kBoxPixels},
      {square(1, 27, 3), 7, 6, kIm2colPixels},
      {square(32, 27, 3), 189, 183, kIm2colPixels},
      {square(32, 28, 3), 196, 196, kBoxPixels},
  };
  for (const Expected& e : all) {
    const ConvGeometry g = geometry_of(e.c);
    SCOPED_TRACE(concat(e.c.n, " images of ", e.c.h, ", filter ", e.c.r));
    for (const ConvOperation operation : {ConvOperation::forward, ConvOperation::data_gradient}) {
      EXPECT_EQ(wgmma_conv_row_count(operation, g, kBoxPixels), e.boxes * 128);
      EXPECT_EQ(wgmma_conv_row_count(operation, g, kIm2colPixels), e.im2col * 128);
      EXPECT_EQ(choose_wgmma_conv_pixels(operation, g), e.chosen);
    }
    EXPECT_EQ(wgmma_moment_parts(g, kIm2colPixels), e.im2col * 8);
  }
  // Steps of 64 pixels of a filter gradient, which skip no taps: 28 and 25; 98 and 98.
  EXPECT_EQ(choose_wgmma_conv_pixels(ConvOperation::filter_gradient, geometry_of(square(32, 7, 3))),
            kIm2colPixels);
  EXPECT_EQ(choose_wgmma_conv_pixels(ConvOperation::filter_gradient, geometry_of(square(128, 7, 3))),
            kBoxPixels);
  // With a stride of y, whatever boxes would need: they would begin before the image, a stride apart.
  for (const Conv2dOptions& strided : {kStrided, Conv2dOptions{.stride_w = 2}, Conv2dOptions{.stride_h = 2}})
    for (const ConvOperation operation : {ConvOperation::forward, ConvOperation::filter_gradient}) {
      const ConvGeometry g = geometry_of({32, 28, 28, 64, 64, 3, 3, strided});
      EXPECT_FALSE(wgmma_box_fits(operation, g));
      EXPECT_EQ(choose_wgmma_conv_pixels(operation, g), kIm2colPixels);
      EXPECT_TRUE(wgmma_conv_fits(operation, Arithmetic::bf16, g, nullptr, nullptr));
    }
  const ConvGeometry far = geometry_of({32, 28, 28, 64, 64, 3, 3, {.stride_h = 2, .pad_h = 129}});
  EXPECT_FALSE(wgmma_conv_fits(ConvOperation::forward, Arithmetic::bf16, far, nullptr, nullptr));
  EXPECT_FALSE(wgmma_conv_fits(ConvOperation::filter_gradient, Arithmetic::bf16, far, nullptr, nullptr));
  EXPECT_TRUE(wgmma_conv_fits(ConvOperation::data_gradient, Arithmetic::bf16, far, nullptr, nullptr));
  // What a map of im2col mode cannot describe.
  const auto fits = [](ConvOperation operation, const ConvCase& c) {
    return wgmma_im2col_fits(operation, geometry_of(c));
  };
  using enum ConvOperation;
  EXPECT_TRUE(fits(forward, {1, 9, 9, 8, 8, 3, 3, kStrided}));
  EXPECT_FALSE(fits(data_gradient, {1, 9, 9, 8, 8, 3, 3, kStrided})) << "four phases";
  EXPECT_TRUE(fits(forward, {1, 9, 9, 8, 8, 3, 3, {.pad_h = 128}}));
  EXPECT_FALSE(fits(forward, {1, 9, 9, 8, 8, 3, 3, {.pad_h = 129}})) << "lower corner";
  EXPECT_FALSE(fits(forward, {1, 260, 9, 8, 8, 130, 3})) << "upper corner";
  EXPECT_FALSE(fits(forward, {1, 257, 9, 8, 8, 257, 3, {.pad_h = 128}})) << "offsets";
  EXPECT_TRUE(fits(forward, {1, 9, 9, 8, 8, 6, 3, {.pad_h = 128, .dilation_h = 51}}));
  EXPECT_FALSE(fits(forward, {1, 9, 9, 8, 8, 5, 3, {.pad_h = 128, .dilation_h = 64}})) << "offsets";
  // The pixels of y and the rows have numbers below 2^31: in y they are the same, in dx either may be more.
  constexpr int64_t k2To30 = int64_t{1} << 30;
  EXPECT_TRUE(fits(forward, {k2To30 - 1, 1, 2, 8, 8, 1, 1}));
  EXPECT_FALSE(fits(forward, {k2To30, 1, 2, 8, 8, 1, 1})) << "pixels";
  EXPECT_TRUE(fits(data_gradient, {k2To30 - 1, 1, 2, 8, 8, 1, 2}));
  EXPECT_FALSE(fits(data_gradient, {k2To30, 1, 2, 8, 8, 1, 2})) << "pixels of x";
  EXPECT_TRUE(fits(data_gradient, {k2To30 / 2, 1, 1, 8, 8, 1, 1, {.pad_w = 1}}));
  EXPECT_FALSE(fits(data_gradient, {k2To30, 1, 1, 8, 8, 1, 1, {.pad_w = 1}})) << "pixels of y";
  EXPECT_EQ(choose_wgmma_conv_pixels(data_gradient, geometry_of({5, 13, 13, 8, 8, 3, 3, kStrided})),
            kBoxPixels);
}

// The tiles for the layers of ResNet-18 with 256 images, on an H100.
TEST(WgmmaConv, TilesOfResNet) {
  const DeviceProperties h100 = {.multiprocessors = 132, .shared_bytes_per_block = 227 << 10, .wgmma = true};
  const auto tile = [&](ConvOperation operation, int64_t size, int64_t c, int64_t k, int64_t splits,
                        int64_t images = 256) {
    const ConvGeometry g = geometry_of({images, size, size, c, k, 3, 3, kPadded});
    return columns_of(
        choose_wgmma_conv_tile(operation, g, splits, mma_tile(Arithmetic::bf16, 128, 128), h100));
  };
  EXPECT_EQ(tile(ConvOperation::forward, 28, 64, 64, 1), 64);
  EXPECT_EQ(tile(ConvOperation::data_gradient, 28, 64, 64, 1), 64);
  EXPECT_EQ(tile(ConvOperation::forward, 14, 128, 128, 1), 128);
  EXPECT_EQ(tile(ConvOperation::forward, 7, 256, 256, 1), 256);
  EXPECT_EQ(tile(ConvOperation::filter_gradient, 7, 256, 256, 8), 128);  // 288 tiles are 3 waves
  // 4096 or 2048 pixels and 512 channels: 128 tiles of 128x128, or of 128x64, are one wave.
  for (const ConvOperation operation : {ConvOperation::forward, ConvOperation::data_gradient}) {
    EXPECT_EQ(tile(operation, 4, 512, 512, 1), 128);
    EXPECT_EQ(tile(operation, 4, 512, 512, 1, 128), 64);
  }
  const DeviceProperties a100 = {.multiprocessors = 108, .shared_bytes_per_block = 163 << 10, .wgmma = false};
  EXPECT_EQ(choose_wgmma_conv_tile(ConvOperation::forward, geometry_of({256, 28, 28, 64, 64, 3, 3, kPadded}),
                                   1, mma_tile(Arithmetic::bf16, 128, 128), a100),
            std::nullopt);
}

// The k-tiles of wgmma have 64 channels of a tap, or 32 of tf32: with 8 channels, 3x3 taps are 576 steps of
// k. Those of mma.sync are dense: 128 steps, each of which takes the time of 3.3.
TEST(WgmmaConv, FewChannelsAreForMmaSync) {
  const DeviceProperties h100 = {.multiprocessors = 132, .shared_bytes_per_block = 227 << 10, .wgmma = true};
  // With one part of k.
  const auto tile = [&](ConvOperation operation, const ConvCase& c, Arithmetic arithmetic) {
    const ConvGeometry g = geometry_of(c);
    TileNeeds needs = kGatherNeeds;
    needs.arithmetic = arithmetic;
    const GemmShape product = operation == ConvOperation::filter_gradient
                                  ? GemmShape{g.patch, g.k, g.output_pixels}
                                  : conv2d_product(operation, g);
    return columns_of(
        choose_wgmma_conv_tile(operation, g, 1, choose_tile(product.m, product.n, 1, needs, h100), h100));
  };
  using enum ConvOperation;
  constexpr Arithmetic kBf16 = Arithmetic::bf16, kTf32 = Arithmetic::tf32;
  const auto square = [](int64_t c, int64_t k) { return ConvCase{256, 28, 28, c, k, 3, 3, kPadded}; };
  EXPECT_EQ(tile(forward, square(8, 64), kBf16), std::nullopt);  // 576 steps; dense 128
  EXPECT_EQ(tile(data_gradient, square(64, 8), kBf16), std::nullopt);
  EXPECT_EQ(tile(forward, square(72, 64), kBf16), 64);  // 1152; dense 704
  EXPECT_EQ(tile(data_gradient, square(64, 64), kBf16), 64);
  EXPECT_EQ(tile(forward, square(4, 64), kTf32), std::nullopt);  // 288; dense 64
  EXPECT_EQ(tile(forward, square(8, 64), kTf32), 64);            // 288; dense 96
  // The second convolution of LeNet: 25 taps of 20 channels are 800 steps; dense, 512.
  EXPECT_EQ(tile(forward, {256, 13, 13, 20, 50, 5, 5}, kTf32), 64);
  // With a stride of 2, a phase of the data gradient has 1, 2 or 4 taps, 2.25 in the mean.
  EXPECT_EQ(tile(data_gradient, {256, 28, 28, 64, 24, 3, 3, kStrided}, kBf16), 64);
  EXPECT_EQ(tile(data_gradient, {256, 28, 28, 64, 64, 3, 3, kStrided}, kBf16), 64);
  // k of the filter gradient are pixels, 64 in a step: for 17 x 17 pixels 9 boxes, or 5 steps in their order.
  EXPECT_EQ(tile(filter_gradient, {1, 17, 17, 512, 512, 3, 3, kPadded}, kBf16), 256);
  EXPECT_EQ(tile(filter_gradient, {1, 16, 16, 512, 512, 3, 3, kPadded}, kBf16), 256);
  // Where the corner is out of range there are only boxes.
  EXPECT_EQ(tile(filter_gradient, {1, 146, 17, 512, 512, 130, 3, {.pad_w = 1}}, kBf16), 256);
}

TEST(WgmmaConv, Fits) {
  const auto fits = [](const ConvCase& c, uintptr_t a = 64, uintptr_t b = 64,
                       ConvOperation operation = ConvOperation::data_gradient,
                       Arithmetic arithmetic = Arithmetic::bf16) {
    return wgmma_conv_fits(operation, arithmetic, geometry_of(c), reinterpret_cast<const void*>(a),
                           reinterpret_cast<const void*>(b));
  };
  EXPECT_TRUE(fits({1, 9, 9, 8, 16, 3, 3}));
  EXPECT_FALSE(fits({1, 9, 9, 12, 16, 3, 3})) << "in channels";
  EXPECT_FALSE(fits({1, 9, 9, 8, 12, 3, 3})) << "out channels";
  EXPECT_TRUE(fits({1, 9, 9, 8, 12, 3, 3}, 64, 64, ConvOperation::forward)) << "out channels of y";
  EXPECT_FALSE(fits({1, 9, 9, 8, 16, 3, 3}, 66)) << "address of a";
  EXPECT_FALSE(fits({1, 9, 9, 8, 16, 3, 3}, 64, 72)) << "address of b";
  // The steps of a tensor map are at most 8.
  EXPECT_TRUE(fits({1, 40, 9, 8, 16, 3, 3, {.stride_h = 8}}));
  EXPECT_TRUE(fits({1, 9, 40, 8, 16, 3, 3, {.stride_w = 8}}));
  EXPECT_FALSE(fits({1, 40, 9, 8, 16, 3, 3, {.stride_h = 9}})) << "stride_h";
  EXPECT_FALSE(fits({1, 9, 40, 8, 16, 3, 3, {.stride_w = 9}})) << "stride_w";
  EXPECT_TRUE(fits({1, 9, 9, 8, 16, 3, 3, {.stride_h = 9, .stride_w = 9}})) << "one row and one column";
  EXPECT_FALSE(fits({0, 9, 9, 8, 16, 3, 3})) << "no images";
  EXPECT_TRUE(fits({1, 9, 9, 12, 21, 3, 3}, 64, 64, ConvOperation::forward, Arithmetic::tf32));
  EXPECT_FALSE(fits({1, 9, 9, 14, 21, 3, 3}, 64, 64, ConvOperation::forward, Arithmetic::tf32))
      << "in channels";
  EXPECT_TRUE(fits({1, 9, 9, 7, 12, 3, 3}, 64, 68, ConvOperation::data_gradient, Arithmetic::tf32));
  EXPECT_FALSE(fits({1, 9, 9, 8, 14, 3, 3}, 64, 64, ConvOperation::data_gradient, Arithmetic::tf32))
      << "out channels";
  EXPECT_FALSE(fits({1, 9, 9, 8, 16, 3, 3}, 64, 64, ConvOperation::filter_gradient, Arithmetic::tf32));
}

// A part of k is a range of all taps. Of those that are visited, each is in one part.
TEST(TapWalk, PartsHaveEveryVisitedTapOnce) {
  constexpr int kChannels = 3, kTaps = 4, kAll = kTaps * kTaps * kChannels;
  for (const TapRange r : {TapRange{0, 4}, TapRange{1, 2}, TapRange{2, 2}})
    for (const TapRange s : {TapRange{0, 4}, TapRange{1, 2}, TapRange{2, 2}, TapRange{0, 1}})
      for (int middle = 0; middle <= kAll; ++middle) {
        TapWalk first(r, s, kChannels), second = first;
        first.restrict_to(0, middle, kTaps);
        second.restrict_to(middle, kAll, kTaps);
        int before = 0;  // of the visited ones, in the order of all
        for (int k = 0; k < middle; ++k) {
          const int row = k / kChannels / kTaps - r.begin, column = k / kChannels % kTaps - s.begin;
          before += row >= 0 && row < r.count && column >= 0 && column < s.count;
        }
        EXPECT_EQ(first.length(), before) << middle;
        EXPECT_EQ(second.length(), r.count * s.count * kChannels - before) << middle;
      }
}

}  // namespace
}  // namespace rondo::test
