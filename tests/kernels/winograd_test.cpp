// Winograd's algorithm: compares it with the definition of the convolutions, with the tiles of GPUs and with
// the vector tile; tests when it is chosen, that its bits do not depend on the batch, and the size of its
// errors.
#include <gtest/gtest.h>

#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/conv/winograd/winograd.h>
#include <rondo/tests/kernels/reference/conv_reference.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace rondo::test {
namespace {

using winograd::TileKind;

// The tiles that this build and device support.
std::vector<TileKind> kinds() {
  DeviceProperties device;
  EXPECT_TRUE(ok(device_properties(&device)));
  std::vector<TileKind> kinds;
  for (const TileKind kind : {TileKind::gpu, TileKind::small_gpu, TileKind::vectors})
    if (winograd::shared_bytes(kind) <= device.shared_bytes_per_block &&
        (kind != TileKind::vectors || device.vectors))
      kinds.push_back(kind);
  return kinds;
}

class Winograd : public testing::TestWithParam<ConvCase> {
 protected:
  const ConvCase& c = GetParam();
  const ConvGeometry g = geometry_of(c);
  // Exact inputs of 7 bits: all sums, also the transformed ones, fit into 24 bits, so the test requires
  // equality.
  const std::vector<float> x = exact_values(c.x_size(), 1), y = exact_values(c.y_size(), 2),
                           filter = exact_values(c.filter_size(), 3), bias = exact_values(c.k, 4);
  Stream stream;
};

TEST_P(Winograd, ForwardAndDataGradientMatchTheDefinition) {
  const std::vector<double> expected_y = conv2d_reference(c, x, filter, bias, true),
                            expected_plain = conv2d_reference(c, x, filter, {}, false),
                            expected_dx = conv2d_data_gradient_reference(c, y, filter);
  for (const TileKind kind : kinds())
    for (const int64_t offset : {0, 1, 2}) {
      const std::string what = concat("tile kind ", static_cast<int>(kind), ", offset ", offset);
      GuardedBuffer<float> in(x, offset), gradient(y, offset), weights(filter, offset), biases(bias, offset),
          out(c.y_size(), offset), plain(c.y_size(), offset), dx(c.x_size(), offset),
          scratch(winograd::workspace_bytes(g) / 4);
      ASSERT_TRUE(ok(winograd::forward(kind, out.data(), in.data(), weights.data(),
                                       {.bias = biases.data(), .relu = true}, g, scratch.data(), stream)));
      ASSERT_TRUE(ok(
          winograd::forward(kind, plain.data(), in.data(), weights.data(), {}, g, scratch.data(), stream)));
      ASSERT_TRUE(ok(winograd::data_gradient(kind, dx.data(), gradient.data(), weights.data(), {}, g,
                                             scratch.data(), stream)));
      EXPECT_TRUE(all_near(out.download(), expected_y, 0)) << what;
      EXPECT_TRUE(all_near(plain.download(), expected_plain, 0)) << what;
      EXPECT_TRUE(all_near(dx.download(), expected_dx, 0)) << what;
    }
}

TEST_P(Winograd, FilterGradientMatchesTheDefinitionForAnyNumberOfParts) {
  const std::vector<double> expected = conv2d_filter_gradient_reference(c, y, x);
  const int64_t parts = winograd::filter_gradient_parts(g);
  for (const TileKind kind : kinds())
    for (const int64_t offset : {0, 1})
      for (const int64_t cut : {parts, int64_t{1}}) {
        GuardedBuffer<float> gradient(y, offset), in(x, offset), dw(c.filter_size(), offset),
            scratch(winograd::filter_gradient_workspace_bytes(g) / 4);
        ASSERT_TRUE(ok(winograd::filter_gradient(kind, {dw.data()}, gradient.data(), in.data(), g, cut,
                                                 scratch.data(), stream)));
        const std::string what =
            concat("tile kind ", static_cast<int>(kind), ", offset ", offset, ", parts ", cut);
        EXPECT_TRUE(all_near(dw.download(), expected, 0)) << what;
        // To the same values once more: twice the sums.
        ASSERT_TRUE(ok(winograd::filter_gradient(kind, {dw.data(), 1}, gradient.data(), in.data(), g, cut,
                                                 scratch.data(), stream)));
        std::vector<double> twice = expected;
        for (double& value : twice) value *= 2;
        EXPECT_TRUE(all_near(dw.download(), twice, 0)) << what;
      }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Winograd,
    testing::Values(
        ConvCase{1, 1, 1, 16, 16, 3, 3, {1, 1, 1, 1}},  // the smallest: one tile, three of its outputs unused
        ConvCase{2, 7, 7, 32, 48, 3, 3, {1, 1, 1, 1}},  // odd: half tiles at two edges
        ConvCase{3, 5, 6, 48, 16, 3, 3},                // no padding: dx has padding 2
        ConvCase{2, 3, 2, 16, 32, 3, 3, {1, 1, 2, 2}},  // padding 2: dx has none
        ConvCase{1, 9, 4, 16, 80, 3, 3, {1, 1, 2, 0}},  // two panels, the second not full
        ConvCase{9, 8, 8, 64, 64, 3, 3, {1, 1, 1, 1}},  // several blocks of tiles, the last not full
        ConvCase{4, 4, 4, 144, 64, 3, 3, {1, 1, 1, 1}},   // several chunks of channels, the last not full
        ConvCase{257, 3, 5, 16, 16, 3, 3, {1, 1, 1, 1}},  // parts of a filter gradient
        ConvCase{0, 4, 4, 16, 16, 3, 3}),                 // no images: dw is an empty sum
    testing::PrintToStringParamName());

TEST(WinogradChoice, PaysWhereItSavesProductsForAnyBatch) {
  const auto pays = [](int64_t n, int64_t size, int64_t channels, int64_t pad) {
    return winograd::pays(geometry_of({n, size, size, channels, channels, 3, 3, {1, 1, pad, pad}}));
  };
  for (const int64_t n : {1, 32, 256}) {  // the stages of ResNet-18
    EXPECT_TRUE(pays(n, 28, 64, 1));
    EXPECT_TRUE(pays(n, 14, 128, 1));
    EXPECT_TRUE(pays(n, 7, 256, 1));
    EXPECT_TRUE(pays(n, 4, 512, 1));
    EXPECT_FALSE(pays(n, 28, 16, 1)) << "few channels";
    EXPECT_FALSE(pays(n, 3, 64, 1)) << "49 products for 3 x 3 outputs, 64 for 4 tiles";
    EXPECT_FALSE(pays(n, 2, 64, 1)) << "16 products, 16 for a tile";
  }
  EXPECT_FALSE(winograd::fits(geometry_of({2, 8, 8, 64, 64, 3, 3, {2, 1, 1, 1}}))) << "stride";
  EXPECT_FALSE(winograd::fits(geometry_of({2, 8, 8, 64, 64, 5, 3, {1, 1, 1, 1}}))) << "filter";
  EXPECT_FALSE(winograd::fits(geometry_of({2, 8, 8, 64, 64, 3, 3, {1, 1, 1, 3}}))) << "padding";
  EXPECT_FALSE(winograd::fits(geometry_of({2, 8, 8, 72, 64, 3, 3, {1, 1, 1, 1}}))) << "in channels";
  EXPECT_FALSE(winograd::fits(geometry_of({2, 8, 8, 64, 50, 3, 3, {1, 1, 1, 1}}))) << "out channels";
}

// The results of the three public operations for normally distributed data.
struct Results {
  std::vector<float> y, dx, dw;
};
Results run(ConvCase c, ConvAlgorithm algorithm) {
  c.options.algorithm = algorithm;
  const Conv2dWorkspaceBytes bytes = workspace_bytes(c);
  Stream stream;
  const std::vector<float> x = normal_values(c.x_size(), 1), dy = normal_values(c.y_size(), 2),
                           filter = normal_values(c.filter_size(), 3);
  GuardedBuffer<float> in(x), gradient(dy), weights(filter), out(c.y_size()), dx(c.x_size()),
      dw(c.filter_size()), for_y(bytes.forward / 4), for_dx(bytes.data_gradient / 4),
      for_dw(bytes.filter_gradient / 4);
  EXPECT_TRUE(ok(conv2d_forward(y_view(c, out.data()), x_view<const float>(c, in.data()),
                                filter_view<const float>(c, weights.data()), c.options, {}, for_y.workspace(),
                                stream)));
  EXPECT_TRUE(ok(conv2d_data_gradient(x_view(c, dx.data()), y_view<const float>(c, gradient.data()),
                                      filter_view<const float>(c, weights.data()), c.options, {},
                                      for_dx.workspace(), stream)));
  EXPECT_TRUE(ok(conv2d_filter_gradient(filter_view(c, dw.data()), y_view<const float>(c, gradient.data()),
                                        x_view<const float>(c, in.data()), c.options, {}, for_dw.workspace(),
                                        stream)));
  return {out.download(), dx.download(), dw.download()};
}

TEST(WinogradChoice, AutomaticWhereItPays) {
  const ConvCase c = {3, 8, 7, 32, 64, 3, 3, {1, 1, 1, 1}};
  ASSERT_EQ(workspace_bytes(c).forward, winograd::workspace_bytes(geometry_of(c)));
  const Results automatic = run(c, ConvAlgorithm::automatic), winograd = run(c, ConvAlgorithm::winograd),
                direct = run(c, ConvAlgorithm::direct);
  EXPECT_TRUE(all_equal_bits(automatic.y, winograd.y));
  EXPECT_TRUE(all_equal_bits(automatic.dx, winograd.dx));
  EXPECT_TRUE(all_equal_bits(automatic.dw, winograd.dw));
  EXPECT_NE(direct.y, winograd.y) << "two ways to round";
  EXPECT_NE(direct.dx, winograd.dx);
  EXPECT_NE(direct.dw, winograd.dw);
}

TEST(WinogradChoice, UnsupportedShapesAreRefused) {
  Stream stream;
  ConvCase c = {1, 6, 6, 32, 32, 3, 3, {1, 1, 1, 1, ConvAlgorithm::winograd}};
  GuardedBuffer<float> x(c.x_size()), y(c.y_size()), filter(c.filter_size()), scratch(64);
  const auto forward = [&] {
    return conv2d_forward(y_view(c, y.data()), x_view<const float>(c, x.data()),
                          filter_view<const float>(c, filter.data()), c.options, {}, scratch.workspace(),
                          stream);
  };
  EXPECT_TRUE(refused(forward(), "the workspace has 256 bytes, must have at least"));
  EXPECT_TRUE(
      refused(conv2d_data_gradient(x_view(c, x.data()), y_view<const float>(c, y.data()),
                                   filter_view<const float>(c, filter.data()), c.options, {}, {}, stream),
              "the workspace has 0 bytes"));
  c.c = 24;
  EXPECT_TRUE(refused(forward(), "filter is 32 x 3 x 3 x 24"));
  c.c = 32, c.options.stride_h = 2;
  EXPECT_TRUE(refused(forward(), "stride 2 x 1"));
}

// 2^32 blocks, which would be 0 as a 32-bit number. Nothing is read or written: the addresses are invalid.
TEST(WinogradChoice, MoreBlocksThanAGridAllowsAreRefused) {
  const ConvGeometry g = geometry_of({int64_t{1} << 27, 64, 64, 16, 16, 3, 3, {1, 1, 1, 1}});
  float* nowhere = reinterpret_cast<float*>(uintptr_t{1} << 40);
  GuardedBuffer<float> filter(normal_values(16 * 9 * 16, 1)), scratch(winograd::workspace_bytes(g) / 4);
  Stream stream;
  EXPECT_TRUE(refused(
      winograd::forward(TileKind::gpu, nowhere, nowhere, filter.data(), {}, g, scratch.data(), stream),
      "the grid 4294967296 x 1 x 1 is beyond"));
}

// A batch of copies of one image, whose tiles have a different position in a block for each copy.
TEST(WinogradBits, DoNotDependOnTheBatch) {
  ConvCase one = {1, 5, 5, 48, 32, 3, 3, {1, 1, 1, 1}}, many = one;
  many.n = 13;
  const auto repeated = [&](const std::vector<float>& image) {
    std::vector<float> images;
    for (int64_t n = 0; n < many.n; ++n) images.insert(images.end(), image.begin(), image.end());
    return images;
  };
  const std::vector<float> x = normal_values(one.x_size(), 1), dy = normal_values(one.y_size(), 2);
  const ConvGeometry of_one = geometry_of(one), of_many = geometry_of(many);
  Stream stream;
  GuardedBuffer<float> weights(normal_values(one.filter_size(), 3)),
      scratch(winograd::workspace_bytes(of_many) / 4);
  const auto results = [&](TileKind kind, const ConvGeometry& g, const std::vector<float>& images,
                           const std::vector<float>& gradients) {
    GuardedBuffer<float> in(images), gradient(gradients), y(g.output_pixels * g.k),
        dx(static_cast<int64_t>(images.size()));
    EXPECT_TRUE(
        ok(winograd::forward(kind, y.data(), in.data(), weights.data(), {}, g, scratch.data(), stream)));
    EXPECT_TRUE(ok(winograd::data_gradient(kind, dx.data(), gradient.data(), weights.data(), {}, g,
                                           scratch.data(), stream)));
    return std::pair(y.download(), dx.download());
  };
  for (const TileKind kind : kinds()) {
    const auto alone = results(kind, of_one, x, dy),
               among = results(kind, of_many, repeated(x), repeated(dy));
    EXPECT_TRUE(all_equal_bits(among.first, repeated(alone.first)));
    EXPECT_TRUE(all_equal_bits(among.second, repeated(alone.second)));
  }
}

// A GPU with little shared memory uses a smaller tile, with the same results.
TEST(WinogradValues, BothTilesOfGpusGiveTheSameBits) {
  if (std::ranges::count(kinds(), TileKind::gpu) == 0) GTEST_SKIP() << "a block has too little shared memory";
  const ConvCase c = {5, 9, 8, 48, 80, 3, 3, {1, 1, 1, 1}};
  const ConvGeometry g = geometry_of(c);
  Stream stream;
  GuardedBuffer<float> x(normal_values(c.x_size(), 1)), gradient(normal_values(c.y_size(), 2)),
      filter(normal_values(c.filter_size(), 3)), scratch(winograd::workspace_bytes(g) / 4);
  std::vector<float> y[2], dx[2], dw[2];
  for (const TileKind kind : {TileKind::gpu, TileKind::small_gpu}) {
    const int i = kind == TileKind::small_gpu;
    GuardedBuffer<float> out(c.y_size()), to_x(c.x_size()), to_filter(c.filter_size());
    ASSERT_TRUE(
        ok(winograd::forward(kind, out.data(), x.data(), filter.data(), {}, g, scratch.data(), stream)));
    ASSERT_TRUE(ok(winograd::data_gradient(kind, to_x.data(), gradient.data(), filter.data(), {}, g,
                                           scratch.data(), stream)));
    ASSERT_TRUE(ok(winograd::filter_gradient(kind, {to_filter.data()}, gradient.data(), x.data(), g, 1,
                                             nullptr, stream)));
    y[i] = out.download(), dx[i] = to_x.download(), dw[i] = to_filter.download();
  }
  EXPECT_TRUE(all_equal_bits(y[1], y[0]));
  EXPECT_TRUE(all_equal_bits(dx[1], dx[0]));
  EXPECT_TRUE(all_equal_bits(dw[1], dw[0]));
}

// A NaN or infinity in x reaches only the outputs whose 3 x 3 window contains its pixel.
TEST(WinogradValues, NanAndInfinityReachOnlyTheirOutputs) {
  const ConvCase c = {1, 9, 8, 32, 32, 3, 3, {1, 1, 1, 1}};
  const ConvGeometry g = geometry_of(c);
  Stream stream;
  GuardedBuffer<float> filter(normal_values(c.filter_size(), 3)), scratch(winograd::workspace_bytes(g) / 4),
      out(c.y_size());
  for (const TileKind kind : kinds())
    for (const float value : {NAN, INFINITY})
      for (int64_t pixel = 0; pixel < c.h * c.w; ++pixel) {
        std::vector<float> x = normal_values(c.x_size(), 1);
        x[static_cast<size_t>(pixel * c.c + 5)] = value;
        GuardedBuffer<float> in(x);
        ASSERT_TRUE(
            ok(winograd::forward(kind, out.data(), in.data(), filter.data(), {}, g, scratch.data(), stream)));
        const std::vector<float> y = out.download();
        for (int64_t i = 0; i < c.y_size(); ++i) {
          const int64_t dy = i / c.k / c.w - pixel / c.w, dx = i / c.k % c.w - pixel % c.w;
          const bool seen = std::abs(dy) <= 1 && std::abs(dx) <= 1;
          ASSERT_EQ(std::isfinite(y[static_cast<size_t>(i)]), !seen) << value << " at pixel " << pixel;
        }
      }
}

// The limits that conv2d.h states: an infinity becomes NaN in outputs that the direct sum makes infinite, and
// values above 2^125 overflow.
TEST(WinogradValues, InfinitiesAndHugeValuesHaveDocumentedLimits) {
  ConvCase c = {1, 6, 6, 32, 32, 3, 3, {1, 1, 1, 1}};
  Stream stream;
  const auto forward = [&](ConvAlgorithm algorithm, const std::vector<float>& x,
                           const std::vector<float>& filter) {
    c.options.algorithm = algorithm;
    GuardedBuffer<float> in(x), weights(filter), out(c.y_size()), scratch(workspace_bytes(c).forward / 4);
    EXPECT_TRUE(ok(conv2d_forward(y_view(c, out.data()), x_view<const float>(c, in.data()),
                                  filter_view<const float>(c, weights.data()), c.options, {},
                                  scratch.workspace(), stream)));
    return out.download();
  };
  std::vector<float> x(static_cast<size_t>(c.x_size()), 1), ones(static_cast<size_t>(c.filter_size()), 1);
  x[static_cast<size_t>((2 * c.w + 3) * c.c)] = INFINITY;
  const std::vector<float> direct = forward(ConvAlgorithm::direct, x, ones),
                           winograd = forward(ConvAlgorithm::winograd, x, ones);
  EXPECT_EQ(std::count(direct.begin(), direct.end(), INFINITY), 9 * c.k);
  int64_t nans = 0;
  for (size_t i = 0; i < direct.size(); ++i) {
    if (std::isinf(direct[i])) {
      ASSERT_FALSE(std::isfinite(winograd[i]));
      nans += std::isnan(winograd[i]);
    } else {
      ASSERT_EQ(winograd[i], direct[i]);
    }
  }
  EXPECT_EQ(nans, 8 * c.k);

  // In dw all nine taps of the channel lose their value, also those that do not see the pixel.
  const auto filter_gradient = [&](ConvAlgorithm algorithm) {
    c.options.algorithm = algorithm;
    GuardedBuffer<float> in(x), gradient(std::vector<float>(static_cast<size_t>(c.y_size()), 1)),
        dw(c.filter_size()), scratch(workspace_bytes(c).filter_gradient / 4);
    EXPECT_TRUE(ok(conv2d_filter_gradient(filter_view(c, dw.data()), y_view<const float>(c, gradient.data()),
                                          x_view<const float>(c, in.data()), c.options, {},
                                          scratch.workspace(), stream)));
    return dw.download();
  };
  x.assign(x.size(), 1);
  x[0] = INFINITY;  // seen by the four taps of channel 0 at the top left
  const std::vector<float> direct_dw = filter_gradient(ConvAlgorithm::direct),
                           winograd_dw = filter_gradient(ConvAlgorithm::winograd);
  const auto not_finite = [](const std::vector<float>& values) {
    return std::count_if(values.begin(), values.end(), [](float one) { return !std::isfinite(one); });
  };
  EXPECT_EQ(not_finite(direct_dw), 4 * c.k);
  EXPECT_EQ(not_finite(winograd_dw), 9 * c.k);
  for (size_t i = 0; i < direct_dw.size(); ++i) {
    const bool other_channel = i % static_cast<size_t>(c.c) != 0;
    if (other_channel) {
      ASSERT_EQ(winograd_dw[i], direct_dw[i]);
    }
  }

  // One weight of 1: the direct sum equals x.
  std::vector<float> identity(static_cast<size_t>(c.filter_size()), 0);
  for (int64_t k = 0; k < c.k; ++k) identity[static_cast<size_t>((k * 9 + 4) * c.c + k)] = 1;
  for (const float value : {0x1p124f, 0x1p127f}) {
    const std::vector<float> huge(static_cast<size_t>(c.x_size()), value);
    const std::vector<float> y = forward(ConvAlgorithm::winograd, huge, identity);
    EXPECT_EQ(forward(ConvAlgorithm::direct, huge, identity), huge);
    EXPECT_EQ(std::all_of(y.begin(), y.end(), [](float one) { return std::isfinite(one); }), value < 0x1p125f)
        << value;
  }
}

double rms_error(const std::vector<float>& got, const std::vector<double>& want) {
  double sum = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double error = static_cast<double>(got[i]) - want[i];
    sum += error * error;
  }
  return std::sqrt(sum / static_cast<double>(got.size()));
}

// The direct sums of y and dx are too short for several parts, which would make their errors smaller.
TEST(WinogradNumerics, ErrorsAreSimilarToTheDirectSums) {
  const ConvCase c = {8, 8, 8, 64, 64, 3, 3, {1, 1, 1, 1}};
  const std::vector<float> x = normal_values(c.x_size(), 1), dy = normal_values(c.y_size(), 2),
                           filter = normal_values(c.filter_size(), 3);
  const Results direct = run(c, ConvAlgorithm::direct), winograd = run(c, ConvAlgorithm::winograd);
  const auto ratio = [](const std::vector<float>& a, const std::vector<float>& b,
                        const std::vector<double>& want) {
    // Two results that are wrong in the same way have similar errors, too.
    EXPECT_LT(rms_error(b, want), 1e-6 * rms_error(std::vector<float>(want.size(), 0), want));
    return rms_error(a, want) / rms_error(b, want);
  };
  const double of_y = ratio(winograd.y, direct.y, conv2d_reference(c, x, filter, {}, false)),
               of_dx = ratio(winograd.dx, direct.dx, conv2d_data_gradient_reference(c, dy, filter)),
               of_dw = ratio(winograd.dw, direct.dw, conv2d_filter_gradient_reference(c, dy, x));
  RecordProperty("errors_over_direct", concat(of_y, " ", of_dx, " ", of_dw));
  EXPECT_LT(of_y, 1);
  EXPECT_LT(of_dx, 1);
  EXPECT_LT(of_dw, 1.5);
}

}  // namespace
}  // namespace rondo::test
