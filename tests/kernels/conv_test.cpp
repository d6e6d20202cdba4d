// The convolutions against their definition in double precision, for every path: copies of 4, 2 and 1 floats;
// padding, strides, tails, tiles whose rows do and do not share a position, few channels, split sums.
// Above 400 lines because the three operations share the reference and the list of shapes.
#include <gtest/gtest.h>

#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>
#include <rondo/tests/kernels/convolutions_by_tile.h>
#include <rondo/tests/kernels/reference/conv_reference.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <string>
#include <tuple>

namespace rondo::test {

namespace {

class Conv2d : public testing::TestWithParam<ConvCase> {
 protected:
  // Exact inputs: sums of up to 4096 products have no rounding, so the test requires equality.
  void SetUp() override {
    const ConvCase& c = GetParam();
    x = exact_values(c.x_size(), 1);
    y = exact_values(c.y_size(), 2);
    filter = exact_values(c.filter_size(), 3);
    bias = exact_values(c.k, 4);
  }
  std::vector<float> x, y, filter, bias;
  Stream stream;
};

TEST_P(Conv2d, ForwardAtEveryAlignment) {
  const ConvCase& c = GetParam();
  for (const int64_t offset : {0, 1, 2}) {
    for (const bool fused : {false, true}) {
      GuardedBuffer<float> in(x, offset), weights(filter, offset), biases(bias, offset),
          out(c.y_size(), offset), scratch(workspace_bytes(c).forward / 4);
      Conv2dEpilogue epilogue;
      if (fused) epilogue = {.bias = biases.view(), .relu = true};
      ASSERT_TRUE(ok(conv2d_forward(y_view(c, out.data()), x_view<const float>(c, in.data()),
                                    filter_view<const float>(c, weights.data()), c.options, epilogue,
                                    scratch.workspace(), stream)));
      EXPECT_TRUE(all_near(out.download(),
                           conv2d_reference(c, x, filter, fused ? bias : std::vector<float>(), fused), 0))
          << "offset " << offset << (fused ? ", bias and ReLU" : "");
    }
  }
}

TEST_P(Conv2d, DataGradientAtEveryAlignment) {
  const ConvCase& c = GetParam();
  for (const int64_t offset : {0, 1, 2}) {
    GuardedBuffer<float> gradient(y, offset), weights(filter, offset), out(c.x_size(), offset),
        scratch(workspace_bytes(c).data_gradient / 4);
    ASSERT_TRUE(ok(conv2d_data_gradient(x_view(c, out.data()), y_view<const float>(c, gradient.data()),
                                        filter_view<const float>(c, weights.data()), c.options, {},
                                        scratch.workspace(), stream)));
    EXPECT_TRUE(all_near(out.download(), conv2d_data_gradient_reference(c, y, filter), 0))
        << "offset " << offset;
  }
}

TEST_P(Conv2d, FilterGradientAtEveryAlignment) {
  const ConvCase& c = GetParam();
  // The sum is exact up to 4096 summands. Beyond that the bound is proportional to their number.
  const double summands = static_cast<double>(c.n * c.p() * c.q());
  const double tolerance = summands <= 4096 ? 0 : summands * 0x1p-24;
  const std::vector<double> expected = conv2d_filter_gradient_reference(c, y, x);
  const int64_t bytes = workspace_bytes(c).filter_gradient;
  for (const int64_t offset : {0, 1, 2}) {
    GuardedBuffer<float> gradient(y, offset), in(x, offset), out(c.filter_size(), offset), scratch(bytes / 4);
    ASSERT_TRUE(ok(conv2d_filter_gradient(filter_view(c, out.data()), y_view<const float>(c, gradient.data()),
                                          x_view<const float>(c, in.data()), c.options, {},
                                          scratch.workspace(), stream)));
    EXPECT_TRUE(all_near(out.download(), expected, tolerance)) << "offset " << offset;
  }
}

// On a large device gemm() would choose the smallest tile for all of these shapes. This test runs every tile,
// and sends few channels through the implicit GEMM too.
TEST_P(Conv2d, EveryTileOfTheImplicitGemm) {
  const ConvCase& c = GetParam();
  if (c.options.groups > 1) GTEST_SKIP() << "groups have kernels of their own";
  DeviceProperties device;
  ASSERT_TRUE(ok(device_properties(&device)));
  const std::vector<double> expected_y = conv2d_reference(c, x, filter, bias, true),
                            expected_dx = conv2d_data_gradient_reference(c, y, filter),
                            expected_dw = conv2d_filter_gradient_reference(c, y, x);
  const double summands = static_cast<double>(c.n * c.p() * c.q());
  // Given a tile, the filter gradient is a product of this shape, whatever kernel would be chosen otherwise.
  const int64_t bytes = gemm_workspace_bytes({c.r * c.s * c.c, c.k, c.n * c.p() * c.q()});
  for (const TileInfo& tile : tile_infos())
    for (const auto& [offset, splits] :
         {std::pair(0, 1), std::pair(0, 3), std::pair(1, 1), std::pair(1, 4)}) {
      const Arithmetic arithmetic = tile.id.arithmetic;
      if (tile.id.instruction == Instruction::wgmma || factor_type(arithmetic) != DType::float32) continue;
      if (!check_math("", uses_tensor_cores(arithmetic) ? Math::tf32 : Math::fp32).ok()) continue;
      const std::string what = concat("tile ", tile.id, ", offset ", offset, ", parts ", splits);
      const auto partials = [parts = splits](int64_t size, int64_t channels) {
        return parts == 1 ? 0 : parts * (size / channels) * ((channels + 3) / 4 * 4);
      };
      GuardedBuffer<float> in(x, offset), gradient(y, offset), weights(filter, offset), biases(bias, offset),
          out(c.y_size(), offset), dx(c.x_size(), offset), dw(c.filter_size(), offset), scratch(bytes / 4),
          of_y(partials(c.y_size(), c.k)), of_dx(partials(c.x_size(), c.c));
      if (shared_bytes(tile, kGatherNeeds) <= device.shared_bytes_per_block) {
        const ConvPlan with = plan_of_tile(tile.id, splits);
        ASSERT_TRUE(ok(conv2d_forward_with_plan<float>(
            &with, y_view(c, out.data()), x_view<const float>(c, in.data()),
            filter_view<const float>(c, weights.data()), options_for(c.options, tile.id),
            {.bias = biases.view(), .relu = true}, of_y.workspace(), stream)));
        EXPECT_TRUE(all_near(out.download(), expected_y, 0)) << what;
        ASSERT_TRUE(ok(conv2d_data_gradient_with_plan<float>(
            &with, x_view(c, dx.data()), y_view<const float>(c, gradient.data()),
            filter_view<const float>(c, weights.data()), options_for(c.options, tile.id), {},
            of_dx.workspace(), stream)));
        EXPECT_TRUE(all_near(dx.download(), expected_dx, 0)) << what;
      }
      if (shared_bytes(tile, kPatchNeeds) <= device.shared_bytes_per_block) {
        const ConvPlan with = filter_plan_of_tile(tile.id, geometry_of(c));
        ASSERT_TRUE(ok(conv2d_filter_gradient_with_plan<float>(
            &with, filter_view(c, dw.data()), y_view<const float>(c, gradient.data()),
            x_view<const float>(c, in.data()), options_for(c.options, tile.id), {}, scratch.workspace(),
            stream)));
        EXPECT_TRUE(all_near(dw.download(), expected_dw, summands <= 4096 ? 0 : summands * 0x1p-24)) << what;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Conv2d,
    testing::Values(
        ConvCase{1, 1, 1, 1, 1, 1, 1},                   // the smallest
        ConvCase{2, 5, 7, 1, 20, 3, 3},                  // one channel, as a first layer
        ConvCase{2, 4, 20, 1, 5, 3, 3, {1, 1, 1, 1}},    // the same with a padded right end
        ConvCase{3, 9, 8, 3, 7, 3, 2},                   // three channels
        ConvCase{5, 6, 6, 20, 50, 5, 5},                 // LeNet's second layer
        ConvCase{7, 9, 8, 30, 131, 2, 3},                // many rows and columns, odd tails
        ConvCase{1, 13, 12, 3, 40, 10, 10},              // three channels, 48 KB of filters
        ConvCase{64, 5, 5, 4, 8, 3, 3},                  // rows of a tile share positions
        ConvCase{300, 4, 4, 5, 6, 2, 2},                 // mixed tiles, odd channels
        ConvCase{2, 6, 5, 6, 9, 3, 3, {1, 1, 1, 1}},     // padding
        ConvCase{2, 3, 3, 2, 3, 5, 5, {1, 1, 2, 2}},     // a filter larger than the image
        ConvCase{260, 3, 2, 2, 3, 3, 2, {1, 1, 2, 1}},   // padding, whole tiles of one position
        ConvCase{2, 11, 9, 8, 12, 3, 3, {2, 2, 1, 1}},   // strides
        ConvCase{3, 10, 13, 3, 5, 2, 4, {3, 2, 0, 1}},   // a stride beyond the filter: gaps
        ConvCase{257, 5, 6, 2, 3, 3, 3, {2, 3, 1, 2}},   // strides, tiles of one position
        ConvCase{2, 5, 9, 32, 8, 1, 1, {2, 2, 0, 0}},    // 1x1 with a stride: three of four phases are empty
        ConvCase{2, 4, 3, 3, 4, 3, 2, {9, 1000, 1, 0}},  // strides beyond the image
        ConvCase{2, 5, 4, 3, 8, 3, 2, {INT32_MAX, INT32_MAX, 1, 0}},  // beyond the range of any index
        ConvCase{2, 5, 4, 8, 8, 3, 2, {INT32_MAX, INT32_MAX, 1, 0}},
        ConvCase{1, 8, 8, 130, 70, 1, 1},                // 1x1: a plain product
        ConvCase{9, 7, 6, 64, 128, 3, 3, {1, 1, 1, 1}},  // the widest copies of the executor
        ConvCase{3, 9, 8, 192, 70, 3, 3, {2, 2, 1, 1}},  // the same with strides, and a short last tile
        ConvCase{5, 7, 6, 48, 80, 3, 3, {1, 1, 1, 1}},   // copies of 16 channels
        ConvCase{1, 40, 33, 2, 3, 7, 1, {1, 2, 3, 0}},   // a column of taps
        // It fits with the padding below only.
        ConvCase{2, 2, 3, 5, 6, 3, 3, {.pad_w = 1, .pad_bottom = 2}},
        // Of these the results that take their turn together have one phase, but not the one between them.
        ConvCase{2, 3, 25, 40, 40, 1, 1, {.stride_w = 3, .groups = 40}},
        ConvCase{2, 3, 50, 12, 12, 1, 1, {.stride_w = 7, .groups = 12}},
        // Groups of 20 to 3 channels and the reverse: a piece of 128 weights ends in the middle of a tap.
        ConvCase{2, 5, 6, 60, 9, 3, 3, {.pad_h = 1, .groups = 3}},
        ConvCase{2, 5, 6, 9, 60, 3, 3, {.pad_h = 1, .groups = 3}}),
    testing::PrintToStringParamName());

// The first-layer kernels have one loop for runs of pixels inside the image, one for runs at its edge, and
// one for a single channel with stride 1. Image widths from one to several runs exercise all of them.
class FirstLayer : public testing::TestWithParam<std::tuple<int64_t, int64_t>> {};

TEST_P(FirstLayer, EveryWidthPaddingAndStride) {
  const auto [channels, stride_w] = GetParam();
  const Stream stream;
  for (int64_t w = 1; w <= 8 * stride_w + 18; ++w)
    for (const int64_t s : {1, 2, 3, 5})
      for (int64_t pad_w = 0; pad_w <= 2; ++pad_w) {
        if (s > w + 2 * pad_w) continue;
        const ConvCase c = {2, 3, w, channels, 3, 2, s, {1 + w % 2, stride_w, pad_w % 2, pad_w}};
        SCOPED_TRACE(testing::PrintToString(c));
        const std::vector<float> x = exact_values(c.x_size(), 1), filter = exact_values(c.filter_size(), 2),
                                 dy = exact_values(c.y_size(), 3);
        GuardedBuffer<float> in(x, w % 3), weights(filter), gradient(dy), out(c.y_size()),
            dw(c.filter_size()), scratch(workspace_bytes(c).filter_gradient / 4);
        ASSERT_TRUE(
            ok(conv2d_forward(y_view(c, out.data()), x_view<const float>(c, in.data()),
                              filter_view<const float>(c, weights.data()), c.options, {}, {}, stream)));
        ASSERT_TRUE(all_near(out.download(), conv2d_reference(c, x, filter, {}, false), 0));
        ASSERT_TRUE(ok(conv2d_filter_gradient(
            filter_view(c, dw.data()), y_view<const float>(c, gradient.data()),
            x_view<const float>(c, in.data()), c.options, {}, scratch.workspace(), stream)));
        ASSERT_TRUE(all_near(dw.download(), conv2d_filter_gradient_reference(c, dy, x), 0));
      }
}

INSTANTIATE_TEST_SUITE_P(ChannelsAndStrides, FirstLayer,
                         testing::Combine(testing::Values(1, 3), testing::Values(1, 2, 3)));

// The sum is divided where there are fewer tiles of 128 x 64 than multiprocessors, and it is long. All layers
// of ResNet-18 with 256 images have enough tiles.
TEST(Conv2dSplits, OfFewPixelsAndALongSum) {
  const auto splits = [](ConvOperation operation, const ConvCase& c) {
    return conv2d_splits(operation, geometry_of(c));
  };
  constexpr auto kForward = ConvOperation::forward, kGradient = ConvOperation::data_gradient;
  constexpr Conv2dOptions kPadded = {.pad_h = 1, .pad_w = 1},
                          kStrided = {.stride_h = 2, .stride_w = 2, .pad_h = 1, .pad_w = 1};
  for (const auto operation : {kForward, kGradient}) {
    EXPECT_EQ(splits(operation, {256, 4, 4, 512, 512, 3, 3, kPadded}), 1);
    EXPECT_EQ(splits(operation, {128, 4, 4, 512, 512, 3, 3, kPadded}), 1);
    EXPECT_EQ(splits(operation, {64, 4, 4, 512, 512, 3, 3, kPadded}), 2);
    EXPECT_EQ(splits(operation, {32, 4, 4, 512, 512, 3, 3, kPadded}), 4);
    EXPECT_EQ(splits(operation, {1, 4, 4, 512, 512, 3, 3, kPadded}), 9);  // parts of 512 summands
    EXPECT_EQ(splits(operation, {32, 8, 8, 256, 256, 3, 3, kPadded}), 2);
    EXPECT_EQ(splits(operation, {1, 8, 8, 256, 256, 1, 1}), 1);
    EXPECT_EQ(splits(operation, {0, 4, 4, 512, 512, 3, 3, kPadded}), 9);  // nothing is computed
  }
  // A stride of 2: a phase of dx has a quarter of the taps.
  EXPECT_EQ(splits(kForward, {8, 8, 8, 256, 512, 3, 3, kStrided}), 4);
  EXPECT_EQ(splits(kGradient, {8, 8, 8, 256, 512, 3, 3, kStrided}), 2);
}

// The parts of fp32 sums end at the same terms in every tile, although tiles leave out other taps at the
// borders. So the bits depend neither on the tile, which depends on the device, nor on the other images.
TEST(Conv2dSplits, BitsOfEveryTileAndImage) {
  DeviceProperties device;
  ASSERT_TRUE(ok(device_properties(&device)));
  const Stream stream;
  const ConvCase cases[] = {{16, 4, 4, 256, 64, 3, 3, {.pad_h = 1, .pad_w = 1}},
                            {10, 5, 5, 30, 50, 5, 5, {.stride_h = 2, .stride_w = 2, .pad_h = 2, .pad_w = 2}},
                            {24, 6, 3, 64, 36, 3, 2, {.stride_h = 1, .stride_w = 2, .pad_h = 1}}};
  for (const ConvCase& c : cases) {
    const auto copies = [&](int64_t size, int seed) {  // of one image
      std::vector<float> values = normal_values(size / c.n, seed);
      for (int64_t image = 1; image < c.n; ++image)
        values.insert(values.end(), values.begin(), values.begin() + size / c.n);
      return values;
    };
    const auto differ = [&](const std::vector<float>& values) {  // images that differ from the first one
      const size_t size = values.size() / static_cast<size_t>(c.n);
      int count = 0;
      for (size_t at = size; at < values.size(); at += size)
        count += !std::equal(values.begin(), values.begin() + static_cast<int64_t>(size),
                             values.begin() + static_cast<int64_t>(at));
      return count;
    };
    GuardedBuffer<float> x(copies(c.x_size(), 1)), dy(copies(c.y_size(), 2)),
        filter(normal_values(c.filter_size(), 3)), y(c.y_size()), dx(c.x_size());
    for (const int64_t splits : {2, 3, 7}) {
      GuardedBuffer<float> of_y(splits * c.y_size() / c.k * ((c.k + 3) / 4 * 4)),
          of_dx(splits * c.x_size() / c.c * ((c.c + 3) / 4 * 4));
      std::vector<float> first_y, first_dx;
      for (const TileInfo& tile : tile_infos()) {
        if (tile.id.arithmetic != Arithmetic::fp32) continue;
        if (shared_bytes(tile, kGatherNeeds) > device.shared_bytes_per_block) continue;
        SCOPED_TRACE(concat(testing::PrintToString(c), ", tile ", tile.id, ", ", splits, " parts"));
        const ConvPlan with = plan_of_tile(tile.id, splits);
        ASSERT_TRUE(ok(conv2d_forward_with_plan<float>(
            &with, y_view(c, y.data()), x_view<const float>(c, x.data()),
            filter_view<const float>(c, filter.data()), c.options, {}, of_y.workspace(), stream)));
        ASSERT_TRUE(ok(conv2d_data_gradient_with_plan<float>(
            &with, x_view(c, dx.data()), y_view<const float>(c, dy.data()),
            filter_view<const float>(c, filter.data()), c.options, {}, of_dx.workspace(), stream)));
        if (first_y.empty()) first_y = y.download(), first_dx = dx.download();
        EXPECT_EQ(differ(y.download()), 0);
        EXPECT_EQ(differ(dx.download()), 0);
        EXPECT_TRUE(all_equal_bits(y.download(), first_y));
        EXPECT_TRUE(all_equal_bits(dx.download(), first_dx));
      }
    }
  }
}

TEST(Conv2dPlan, ATileOfAnotherArithmeticIsRefused) {
  const ConvCase c = {1, 5, 5, 4, 4, 3, 3};
  GuardedBuffer<float> x(c.x_size()), filter(c.filter_size()), y(c.y_size()), dw(c.filter_size());
  const Stream stream;
  const ConvPlan plan = plan_of_tile(mma_tile(Arithmetic::tf32, 64, 64));
  const char* const says = ": the tile is one of tf32, the convolution one of fp32";
  const auto xs = x_view<const float>(c, x.data()), ys = y_view<const float>(c, y.data());
  const auto ws = filter_view<const float>(c, filter.data());
  EXPECT_TRUE(refused(
      conv2d_forward_with_plan<float>(&plan, y_view(c, y.data()), xs, ws, c.options, {}, {}, stream), says));
  EXPECT_TRUE(refused(
      conv2d_data_gradient_with_plan<float>(&plan, x_view(c, x.data()), ys, ws, c.options, {}, {}, stream),
      says));
  EXPECT_TRUE(refused(conv2d_filter_gradient_with_plan<float>(&plan, filter_view(c, dw.data()), ys, xs,
                                                              c.options, {}, {}, stream),
                      says));
}

TEST(Conv2dSplits, AWorkspaceThatIsTooSmallIsRefused) {
  const ConvCase c = {2, 4, 4, 120, 128, 3, 3, {.pad_h = 1, .pad_w = 1}};
  const Stream stream;
  GuardedBuffer<float> x(exact_values(c.x_size(), 1)), filter(exact_values(c.filter_size(), 2)),
      dy(exact_values(c.y_size(), 3)), y(c.y_size()), dx(c.x_size());
  const Conv2dWorkspaceBytes bytes = workspace_bytes(c);
  EXPECT_EQ(bytes.forward, 2 * c.y_size() * 4);
  EXPECT_EQ(bytes.data_gradient, 2 * c.x_size() * 4);
  GuardedBuffer<float> of_y(bytes.forward / 4), of_dx(bytes.data_gradient / 4);
  const auto forward = [&](Workspace workspace) {
    return conv2d_forward(y_view(c, y.data()), x_view<const float>(c, x.data()),
                          filter_view<const float>(c, filter.data()), c.options, {}, workspace, stream);
  };
  const auto data_gradient = [&](Workspace workspace) {
    return conv2d_data_gradient(x_view(c, dx.data()), y_view<const float>(c, dy.data()),
                                filter_view<const float>(c, filter.data()), c.options, {}, workspace, stream);
  };
  EXPECT_TRUE(refused(forward({of_y.data(), bytes.forward - 1}), "workspace"));
  EXPECT_TRUE(refused(forward({y.data(), bytes.forward}), "workspace overlaps y"));
  EXPECT_TRUE(refused(data_gradient({of_dx.data(), bytes.data_gradient - 1}), "workspace"));
  EXPECT_TRUE(refused(data_gradient({}), "workspace"));
  EXPECT_TRUE(ok(forward(of_y.workspace())));
  EXPECT_TRUE(ok(data_gradient(of_dx.workspace())));
  stream.synchronize();
}

TEST(Conv2dEmpty, EmptyOutputsAndEmptySums) {
  Stream stream;
  // No images: y is empty, dw is an empty sum.
  const ConvCase none = {0, 4, 4, 2, 3, 3, 3};
  GuardedBuffer<float> filter(exact_values(none.filter_size(), 1)), dw(none.filter_size());
  EXPECT_TRUE(ok(conv2d_forward(y_view<float>(none, nullptr), x_view<const float>(none, nullptr),
                                filter_view<const float>(none, filter.data()), {}, {}, {}, stream)));
  EXPECT_TRUE(ok(conv2d_data_gradient(x_view<float>(none, nullptr), y_view<const float>(none, nullptr),
                                      filter_view<const float>(none, filter.data()), {}, {}, {}, stream)));
  EXPECT_TRUE(ok(conv2d_filter_gradient(filter_view(none, dw.data()), y_view<const float>(none, nullptr),
                                        x_view<const float>(none, nullptr), {}, {}, {}, stream)));
  EXPECT_TRUE(all_near(dw.download(), std::vector<double>(static_cast<size_t>(none.filter_size())), 0));

  // No input channels: y is the bias.
  const ConvCase no_input = {1, 4, 4, 0, 2, 3, 3};
  GuardedBuffer<float> bias(std::vector<float>{1.5f, -2}), y(no_input.y_size());
  EXPECT_TRUE(ok(conv2d_forward(y_view(no_input, y.data()), x_view<const float>(no_input, nullptr),
                                filter_view<const float>(no_input, nullptr), {},
                                {.bias = bias.view(), .relu = true}, {}, stream)));
  EXPECT_TRUE(all_near(y.download(), {1.5, 0, 1.5, 0, 1.5, 0, 1.5, 0}, 0));

  // No output channels: dx is an empty sum.
  const ConvCase no_output = {1, 4, 4, 2, 0, 3, 3};
  GuardedBuffer<float> dx(no_output.x_size());
  EXPECT_TRUE(ok(conv2d_data_gradient(x_view(no_output, dx.data()), y_view<const float>(no_output, nullptr),
                                      filter_view<const float>(no_output, nullptr), {}, {}, {}, stream)));
  EXPECT_TRUE(all_near(dx.download(), std::vector<double>(static_cast<size_t>(no_output.x_size())), 0));
}

TEST(Conv2dValues, NanPassesTheReluAndReachesOnlyItsOutputs) {
  const ConvCase c = {1, 1, 5, 1, 1, 1, 2};
  Stream stream;
  GuardedBuffer<float> x(std::vector<float>{1, 2, NAN, -4, -5}), filter(std::vector<float>{1, 1}),
      y(c.y_size());
  ASSERT_TRUE(ok(conv2d_forward(y_view(c, y.data()), x_view<const float>(c, x.data()),
                                filter_view<const float>(c, filter.data()), {}, {.relu = true}, {}, stream)));
  const std::vector<float> got = y.download();
  EXPECT_EQ(got[0], 3);
  EXPECT_TRUE(std::isnan(got[1]));
  EXPECT_TRUE(std::isnan(got[2]));
  EXPECT_EQ(got[3], 0);
}

class Conv2dRefuses : public testing::Test {
 protected:
  ConvCase c{2, 6, 5, 3, 4, 3, 2};
  GuardedBuffer<float> x{c.x_size()}, y{c.y_size()}, filter{c.filter_size()};
  Stream stream;

  ImageView<float> xs() { return x_view(c, x.data()); }
  ImageView<float> ys() { return y_view(c, y.data()); }
  FilterView<float> ws() { return filter_view(c, filter.data()); }

  // All three operations get the same three shapes and must refuse the same faults.
  void expect_refused(ImageView<float> xv, ImageView<float> yv, FilterView<float> wv,
                      const Conv2dOptions& options, const std::string& says) {
    EXPECT_TRUE(refused(conv2d_forward(yv, xv, wv, options, {}, {}, stream), says));
    EXPECT_TRUE(refused(conv2d_data_gradient(xv, yv, wv, options, {}, {}, stream), says));
    EXPECT_TRUE(refused(conv2d_filter_gradient(wv, yv, xv, options, {}, {}, stream), says));
  }
};

// The rule of conv2d.h for a weight that is not finite: on the path for few channels, with implicit GEMMs
// whose tiles hold one position of the image (many images) or several, and with Winograd's algorithm.
TEST(Conv2dValues, AnInfiniteWeightOverThePaddingGivesNanOrIsSkipped) {
  Stream stream;
  for (const int64_t channels : {1, 8, 32})
    for (const int64_t images : {1, 300}) {
      const ConvCase c = {images, 4, 4, channels, 32, 3, 3, {1, 1, 1, 1}};
      std::vector<float> weights(static_cast<size_t>(c.filter_size()), 1);
      weights[0] = INFINITY;  // out channel 0, the top left tap
      GuardedBuffer<float> x(std::vector<float>(static_cast<size_t>(c.x_size()), 1)), filter(weights),
          y(c.y_size()), scratch(workspace_bytes(c).forward / 4);
      ASSERT_TRUE(ok(conv2d_forward(y_view(c, y.data()), x_view<const float>(c, x.data()),
                                    filter_view<const float>(c, filter.data()), c.options, {},
                                    scratch.workspace(), stream)));
      const std::vector<float> got = y.download();
      for (int64_t i = 0; i < c.y_size(); ++i) {
        const int64_t k = i % c.k, q = i / c.k % 4, p = i / c.k / 4 % 4;
        const auto visible = [](int64_t at) { return at == 0 || at == 3 ? 2 : 3; };
        const auto sum = static_cast<float>(visible(p) * visible(q) * channels);  // of the finite terms
        const float value = got[static_cast<size_t>(i)];
        if (k > 0)
          ASSERT_EQ(value, sum) << "another out channel, " << channels << " channels, " << images
                                << " images";
        else if (p > 0 && q > 0)
          ASSERT_FALSE(std::isfinite(value)) << "the weight meets the image at " << p << ", " << q;
        else
          ASSERT_TRUE(std::isnan(value) || value == sum) << value << " at " << p << ", " << q;
      }
    }
}

// The same rule for both gradients: an infinite value in a corner of dy, and an infinite weight.
TEST(Conv2dValues, AnInfiniteFactorOverThePaddingGivesNanOrIsSkippedInGradients) {
  Stream stream;
  for (const int64_t channels : {1, 8})
    for (const int64_t images : {1, 300}) {
      const ConvCase c = {images, 4, 4, channels, 8, 3, 3, {1, 1, 1, 1, ConvAlgorithm::direct}};
      std::vector<float> gradient(static_cast<size_t>(c.y_size()), 1),
          weights(static_cast<size_t>(c.filter_size()), 1);
      const auto fits = [&](float value, bool reached, float sum) {
        return reached ? !std::isfinite(value) : std::isnan(value) || value == sum;
      };
      const auto what = concat(channels, " channels, ", images, " images");
      GuardedBuffer<float> x(std::vector<float>(static_cast<size_t>(c.x_size()), 1)), dw(c.filter_size()),
          dx(c.x_size()), scratch(workspace_bytes(c).filter_gradient / 4);

      gradient[0] = INFINITY;  // the first image's top left, out channel 0
      GuardedBuffer<float> infinite_dy(gradient);
      ASSERT_TRUE(ok(conv2d_filter_gradient(
          filter_view(c, dw.data()), y_view<const float>(c, infinite_dy.data()),
          x_view<const float>(c, x.data()), c.options, {}, scratch.workspace(), stream)));
      const std::vector<float> got_dw = dw.download();
      for (int64_t i = 0; i < 9 * channels; ++i) {
        const int64_t s = i / channels % 3, r = i / channels / 3;
        const auto pixels = [](int64_t tap) { return tap == 1 ? 4 : 3; };
        const auto sum = static_cast<float>(images * pixels(r) * pixels(s));
        EXPECT_TRUE(fits(got_dw[static_cast<size_t>(i)], r > 0 && s > 0, sum))
            << what << ", tap " << r << ", " << s;
      }

      weights[0] = INFINITY;  // out channel 0, the top left tap, channel 0
      GuardedBuffer<float> dy(std::vector<float>(static_cast<size_t>(c.y_size()), 1)), filter(weights);
      ASSERT_TRUE(
          ok(conv2d_data_gradient(x_view(c, dx.data()), y_view<const float>(c, dy.data()),
                                  filter_view<const float>(c, filter.data()), c.options, {}, {}, stream)));
      const std::vector<float> got_dx = dx.download();
      for (int64_t i = 0; i < c.x_size(); i += channels) {
        const int64_t w = i / channels % 4, h = i / channels / 4 % 4;
        const auto outputs = [](int64_t at) { return at == 0 || at == 3 ? 2 : 3; };
        const auto sum = static_cast<float>(8 * outputs(h) * outputs(w));  // of the finite terms
        EXPECT_TRUE(fits(got_dx[static_cast<size_t>(i)], h < 3 && w < 3, sum))
            << what << ", pixel " << h << ", " << w;
      }
    }
}

TEST_F(Conv2dRefuses, BadOptions) {
  expect_refused(xs(), ys(), ws(), {.stride_h = 0}, "stride_h is 0");
  expect_refused(xs(), ys(), ws(), {.stride_w = -1}, "stride_w is -1");
  expect_refused(xs(), ys(), ws(), {.stride_h = int64_t{1} << 31},
                 "stride_h is 2147483648, must be from 1 to");
  expect_refused(xs(), ys(), ws(), {.algorithm = static_cast<ConvAlgorithm>(77)},
                 "algorithm is the enumerator 77");
  expect_refused(xs(), ys(), ws(), {.math = static_cast<Math>(3)},
                 "math is the enumerator 3, must be from 0 to 2");
  expect_refused(xs(), ys(), ws(), {.pad_h = -1}, "pad_h is -1");
  expect_refused(xs(), ys(), ws(), {.pad_w = -2}, "pad_w is -2");
  expect_refused(xs(), ys(), ws(), {.pad_w = int64_t{1} << 40}, "pad_w");
  expect_refused(xs(), ys(), ws(), {.pad_bottom = -1}, "pad_bottom is -1, must be from 0 to 2^29 - 1");
  expect_refused(xs(), ys(), ws(), {.pad_right = -3}, "pad_right is -3");
  expect_refused(xs(), ys(), ws(), {.dilation_h = 0}, "dilation_h is 0, must be from 1 to 2^31 - 1");
  expect_refused(xs(), ys(), ws(), {.dilation_w = int64_t{1} << 31}, "dilation_w is 2147483648");
  expect_refused(xs(), ys(), ws(), {.groups = 0}, "groups is 0, must be from 1 to 2^31 - 1");
}

TEST_F(Conv2dRefuses, ShapesThatDoNotFit) {
  auto w = ws();
  w.height = 7;
  expect_refused(xs(), ys(), w, {}, "at most the padded");
  w.height = xs().height + 3;
  expect_refused(xs(), ys(), w, {.pad_h = 2, .pad_bottom = 0}, " + 2 + 0");
  w = ws();
  expect_refused(xs(), ys(), w, {.dilation_h = 3}, "along h and covers ");
  expect_refused(xs(), ys(), w, {.dilation_w = 5, .pad_right = 0},
                 "is 2 along w and covers 6 with dilation 5, must be at most the padded ");
  expect_refused(xs(), ys(), w, {.groups = 5}, "groups is 5, must divide the channels of ");
  w = ws(), w.width = 0;
  expect_refused(xs(), ys(), w, {}, "must be at least 1");
  w = ws(), w.in_channels = 2;
  expect_refused(xs(), ys(), w, {}, "in_channels is 2");
  w = ws(), w.out_channels = 5;
  expect_refused(xs(), ys(), w, {}, "must be the out_channels");
  w = ws(), w.height = -1;
  expect_refused(xs(), ys(), w, {}, "height is -1");
  auto image = ys();
  image.height = 5;
  expect_refused(xs(), image, ws(), {}, "is 5 along h, must be 4");
  image = ys(), image.width = 3;
  expect_refused(xs(), image, ws(), {}, "is 3 along w, must be 4");
  image = ys(), image.images = 3;
  expect_refused(xs(), image, ws(), {}, "images is 3");
  image = xs(), image.channels = int64_t{1} << 31;
  expect_refused(image, ys(), ws(), {}, "channels is 2147483648");
  image = xs(), image.images = -1;
  expect_refused(image, ys(), ws(), {}, "images is -1");
  image = xs(), image.height = 1 << 20, image.width = 1 << 20;
  expect_refused(image, ys(), ws(), {}, "below 2^31");
  w = ws(), w.out_channels = 1 << 20, w.height = 1 << 20;
  expect_refused(xs(), ys(), w, {}, "below 2^31");
}

TEST_F(Conv2dRefuses, BadPointersAndOverlaps) {
  const auto misaligned = [](float* pointer) {
    return reinterpret_cast<float*>(reinterpret_cast<char*>(pointer) + 2);
  };
  expect_refused(x_view<float>(c, nullptr), ys(), ws(), {}, "x is null");
  auto image = xs();
  image.data = nullptr;
  EXPECT_TRUE(refused(conv2d_forward(ys(), image, ws(), {}, {}, {}, stream), "x is null"));
  image = ys(), image.data = misaligned(image.data);
  EXPECT_TRUE(refused(conv2d_forward(image, xs(), ws(), {}, {}, {}, stream), "y is at"));
  auto w = ws();
  w.data = nullptr;
  EXPECT_TRUE(refused(conv2d_data_gradient(xs(), ys(), w, {}, {}, {}, stream), "filter is null"));
  EXPECT_TRUE(refused(conv2d_filter_gradient(w, ys(), xs(), {}, {}, {}, stream), "dw is null"));

  image = ys(), image.data = x.data() + x.size() - 1;
  EXPECT_TRUE(refused(conv2d_forward(image, xs(), ws(), {}, {}, {}, stream), "y overlaps x"));
  image = xs(), image.data = filter.data();
  EXPECT_TRUE(refused(conv2d_data_gradient(image, ys(), ws(), {}, {}, {}, stream), "dx overlaps filter"));
  w = ws(), w.data = y.data();
  EXPECT_TRUE(refused(conv2d_filter_gradient(w, ys(), xs(), {}, {}, {}, stream), "dw overlaps dy"));
}

TEST_F(Conv2dRefuses, BadBias) {
  GuardedBuffer<float> bias(5);
  EXPECT_TRUE(refused(conv2d_forward(ys(), xs(), ws(), {}, {.bias = bias.view()}, {}, stream), "bias has 5"));
  EXPECT_TRUE(refused(conv2d_forward(ys(), xs(), ws(), {}, {.bias = {nullptr, 4}}, {}, stream), "bias"));
  EXPECT_TRUE(
      refused(conv2d_forward(ys(), xs(), ws(), {}, {.bias = {y.data(), 4}}, {}, stream), "y overlaps bias"));
}

TEST_F(Conv2dRefuses, BadWorkspace) {
  GuardedBuffer<float> scratch(64);
  const auto refuses = [&](Workspace workspace, const std::string& says) {
    EXPECT_TRUE(refused(conv2d_forward(ys(), xs(), ws(), {}, {}, workspace, stream), says));
    EXPECT_TRUE(refused(conv2d_data_gradient(xs(), ys(), ws(), {}, {}, workspace, stream), says));
    EXPECT_TRUE(refused(conv2d_filter_gradient(ws(), ys(), xs(), {}, {}, workspace, stream), says));
  };
  refuses({scratch.data(), -4}, "workspace.bytes is -4");
  refuses({nullptr, 64}, "workspace is null");
  refuses({scratch.data() + 1, 64}, "aligned to 16");
  const Workspace in_x = {x.data(), 64}, in_y = {y.data(), 64};
  EXPECT_TRUE(refused(conv2d_forward(ys(), xs(), ws(), {}, {}, in_y, stream), "workspace overlaps y"));
  EXPECT_TRUE(refused(conv2d_data_gradient(xs(), ys(), ws(), {}, {}, in_x, stream), "workspace overlaps dx"));
  EXPECT_TRUE(
      refused(conv2d_filter_gradient(ws(), ys(), xs(), {}, {}, in_x, stream), "workspace overlaps x"));
}

}  // namespace
}  // namespace rondo::test
