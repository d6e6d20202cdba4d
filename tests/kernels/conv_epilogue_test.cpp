// The epilogue of forward convolutions: the residual, and the sums that batch norm needs. With every kernel:
// of few channels, of Winograd's algorithm, and the tiles of each arithmetic, by FMA, mma.sync and wgmma.
#include <gtest/gtest.h>

#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>
#include <rondo/kernels/conv/implicit_gemm/wgmma/wgmma_conv.h>
#include <rondo/kernels/norm/batch_norm.h>
#include <rondo/tests/kernels/convolutions_by_tile.h>
#include <rondo/tests/kernels/launch_names.h>
#include <rondo/tests/kernels/reference/conv_reference.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/narrow.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <sstream>
#include <type_traits>

namespace rondo::test {
namespace {

using Floats = std::vector<float>;

// A kernel of the forward convolution: the one that is chosen, or a tile of an implicit GEMM.
struct Kernel {
  std::optional<TileId> tile;
  WgmmaConvPixels pixels = WgmmaConvPixels::box;  // of wgmma

  bool by_wgmma() const { return tile && tile->instruction == Instruction::wgmma; }

  friend std::ostream& operator<<(std::ostream& out, const Kernel& kernel) {
    if (!kernel.tile) return out << "chosen";
    out << *kernel.tile;
    return kernel.by_wgmma() ? out << " of wgmma, pixels " << static_cast<int>(kernel.pixels) : out;
  }
};

template <class T>
std::vector<Kernel> kernels_for(Math math) {
  DeviceProperties device;
  EXPECT_TRUE(ok(device_properties(&device)));
  std::vector<Kernel> kernels = {{}};
  const Arithmetic arithmetic = arithmetic_of(dtype_of<T>, math);
  for (const TileInfo& tile : tile_infos())
    if (tile.id.arithmetic == arithmetic && tile.id.instruction != Instruction::wgmma &&
        shared_bytes(tile, kGatherNeeds) <= device.shared_bytes_per_block)
      kernels.push_back({tile.id});
  if (device.wgmma && uses_tensor_cores(arithmetic))
    for (const int columns : {256, 128, 64})
      for (const auto pixels : {WgmmaConvPixels::box, WgmmaConvPixels::im2col})
        if (math != Math::tf32x3 || columns <= 128)
          kernels.push_back({wgmma_tile(arithmetic, 128, columns), pixels});
  return kernels;
}

// Data of one convolution on the device. `offset`: of the tensors from an aligned address, in elements.
// `residual_offset`: of the residual.
template <class T>
struct Operands {
  ConvCase c;
  Floats given_x, given_filter, given_bias, given_residual;
  GuardedBuffer<T> x, filter, residual, y;
  GuardedBuffer<float> bias;
  GuardedBuffer<double> sums;
  GuardedBuffer<float> scratch;

  Operands(const ConvCase& conv, int64_t offset, int64_t residual_offset, float mean = 0)
      : c(conv),
        given_x(exact_values(c.x_size(), 1)),
        given_filter(exact_values(c.filter_size(), 2)),
        given_bias(exact_values(c.k, 3)),
        given_residual(exact_values(c.y_size(), 4)),
        x(rounded<T>(given_x), offset),
        filter(rounded<T>(given_filter), offset),
        residual(rounded<T>(given_residual), residual_offset),
        y(c.y_size(), offset),
        bias((add(given_bias, mean), given_bias)),
        sums(2 * c.k),
        scratch(conv2d_workspace_bytes(x_view<const float>(c, nullptr), filter_view<const float>(c, nullptr),
                                       c.options, dtype_of<T>)
                    .forward_sums /
                4) {}
  static void add(Floats& values, float mean) {
    for (float& value : values) value += mean;
  }

  Conv2dEpilogueOf<T> epilogue(bool residual_too, bool relu, bool with_sums) {
    Conv2dEpilogueOf<T> epilogue{.bias = bias.view(), .relu = relu};
    if (residual_too) epilogue.residual = y_view<const T>(c, residual.data());
    if (with_sums) epilogue.sums = sums.view();
    return epilogue;
  }
  std::vector<double> expected(bool residual_too, bool relu) const {
    std::vector<double> y = conv2d_reference(c, given_x, given_filter, given_bias, false);
    for (size_t i = 0; i < y.size(); ++i) {
      if (residual_too) y[i] += static_cast<double>(given_residual[i]);
      if (relu) y[i] = std::max(y[i], 0.0);
    }
    return y;
  }

  Status run(const Kernel& kernel, const Conv2dEpilogueOf<T>& epilogue, cudaStream_t stream) {
    if (!kernel.by_wgmma()) {
      const ConvPlan plan = plan_of_tile(kernel.tile.value_or(TileId()));
      return conv2d_forward_with_plan<T>(kernel.tile ? &plan : nullptr, y_view(c, y.data()),
                                         x_view<const T>(c, x.data()), filter_view<const T>(c, filter.data()),
                                         c.options, epilogue, scratch.workspace(), stream);
    }
    const ConvGeometry g = geometry_of(c);
    ConvEpilogue<T> of_kernel = {epilogue.bias.data, epilogue.residual.data, epilogue.relu};
    // Pixels that the library does not choose may need more room than it does.
    const int64_t parts = wgmma_moment_parts(g, kernel.pixels);
    GuardedBuffer<float> room(partial_moments_bytes(parts, g.k) / 4);
    if (epilogue.sums.data) of_kernel.moments = partial_moments(room.workspace(), parts, g.k);
    const WgmmaConvArguments<T> arguments = {y.data(), x.data(), filter.data(), of_kernel, g};
    RONDO_RETURN_IF_ERROR(with_tensor_arithmetic<T>(kernel.tile->arithmetic, [&]<Arithmetic kArithmetic>() {
      return launch_conv2d_wgmma<kArithmetic>("test", ConvOperation::forward, *kernel.tile, kernel.pixels,
                                              arguments, stream);
    }));
    if (!epilogue.sums.data) return {};
    return add_partial_moments("test", sums.data(), of_kernel.moments, parts, room.workspace(), stream);
  }
  bool fits(const Kernel& kernel) {
    if (!kernel.by_wgmma()) return true;
    return wgmma_conv_fits(ConvOperation::forward, kernel.tile->arithmetic, geometry_of(c), x.data(),
                           filter.data()) &&
           (kernel.pixels == WgmmaConvPixels::box
                ? wgmma_box_fits(ConvOperation::forward, geometry_of(c))
                : wgmma_im2col_fits(ConvOperation::forward, geometry_of(c)));
  }
};

// The sums of y, which has `channels`, and of its squares. The differences of 32 values from one of them are
// added in float: their magnitudes bound the error.
template <class T>
void expect_sums(const std::vector<double>& sums, const std::vector<T>& y, int64_t channels) {
  std::vector<double> expected(sums.size()), magnitude(sums.size()), largest(sums.size());
  for (size_t i = 0; i < y.size(); ++i) {
    const double value = static_cast<float>(y[i]);
    const size_t c = i % static_cast<size_t>(channels), square = c + static_cast<size_t>(channels);
    expected[c] += value, magnitude[c] += std::abs(value);
    expected[square] += value * value, magnitude[square] += value * value;
    largest[c] = std::max(largest[c], std::abs(value)),
    largest[square] = std::max(largest[square], value * value);
  }
  const double rows = static_cast<double>(y.size()) / static_cast<double>(channels);
  for (size_t i = 0; i < sums.size(); ++i)
    ASSERT_NEAR(sums[i], expected[i], 0x1p-21 * (magnitude[i] + rows * largest[i])) << "sum " << i;
}

template <class T>
void check(const ConvCase& conv, int64_t offset, int64_t residual_offset, bool residual, bool relu,
           bool in_place, const Kernel& kernel) {
  std::ostringstream name;
  PrintTo(conv, &name);
  SCOPED_TRACE(concat(name.str(), ", ", name_of(dtype_of<T>), " ", name_of(conv.options.math), ", ", kernel,
                      ", offsets ", offset, " and ", residual_offset, residual ? ", residual" : "",
                      relu ? ", ReLU" : "", in_place ? ", in place" : ""));
  const Stream stream;
  Operands<T> operands(conv, offset, residual_offset);
  if (!operands.fits(kernel)) return;
  ASSERT_TRUE(ok(operands.run(kernel, operands.epilogue(residual, relu, false), stream)));
  const std::vector<T> without = operands.y.download();
  const std::vector<double> expected = operands.expected(residual, relu);
  EXPECT_TRUE(all_within(without, expected, [&](size_t i) {
    return sizeof(T) == 2 ? 0x1p-8 * std::abs(expected[i]) : 0x1p-18;
  }));

  Conv2dEpilogueOf<T> epilogue = operands.epilogue(residual, relu, true);
  if (residual && in_place) {
    operands.y.upload(rounded<T>(operands.given_residual));
    epilogue.residual = y_view<const T>(conv, operands.y.data());
  }
  ASSERT_TRUE(ok(operands.run(kernel, epilogue, stream)));
  const std::vector<T> y = operands.y.download();
  EXPECT_TRUE(all_equal_bits(y, without)) << "with sums";
  expect_sums(operands.sums.download(), y, conv.k);
}

template <class T, Math math>
struct Arithmetic {
  using Element = T;
  static constexpr Math kMath = math;
};

template <class A>
class ConvEpilogueTest : public testing::Test {
 protected:
  using T = typename A::Element;
  void SetUp() override {
    if (const Status supported = check_factor_type("", dtype_of<T>); !supported.ok())
      GTEST_SKIP() << supported.message();
    if (const Status supported = check_math("", A::kMath); !supported.ok())
      GTEST_SKIP() << supported.message();
  }
};
using Arithmetics = testing::Types<Arithmetic<float, Math::fp32>, Arithmetic<float, Math::tf32>,
                                   Arithmetic<float, Math::tf32x3>, Arithmetic<__nv_bfloat16, Math::fp32>,
                                   Arithmetic<__half, Math::fp32>>;
TYPED_TEST_SUITE(ConvEpilogueTest, Arithmetics);

// Shapes with tails of rows and columns, channels of every alignment, few channels, Winograd's algorithm (16
// channels), a single pixel, a sum in parts, and no image.
TYPED_TEST(ConvEpilogueTest, ResidualAndSumsNarrow) {
  using T = typename TypeParam::Element;
  const ConvCase cases[] = {{2, 9, 7, 16, 32, 3, 3, {.pad_h = 1, .pad_w = 1}},
                            {3, 8, 8, 8, 72, 3, 3, {.stride_h = 2, .stride_w = 2, .pad_h = 1, .pad_w = 1}},
                            {5, 6, 6, 24, 33, 1, 1},
                            {2, 5, 6, 1, 5, 3, 3},
                            {1, 1, 1, 8, 4, 1, 1},
                            {3, 20, 10, 5, 130, 2, 3, {.pad_w = 1}},
                            {2, 4, 4, 120, 33, 3, 3, {.pad_h = 1, .pad_w = 1}},
                            {0, 4, 4, 8, 8, 3, 3}};
  // Over three cases each kernel has every residual with every offset.
  struct Residual {
    bool present, relu, in_place;
  };
  constexpr Residual kResiduals[] = {{true, false, true}, {true, true, false}, {false, true, false}};
  int64_t number = 0;
  for (ConvCase c : cases) {
    c.options.math = TypeParam::kMath;
    for (const Kernel& kernel : kernels_for<T>(TypeParam::kMath))
      for (int64_t i = 0; i < 3; ++i) {
        const int64_t offset = kernel.by_wgmma() ? 0 : (number + i) % 3;
        const auto& [present, relu, in_place] = kResiduals[i];
        check<T>(c, offset, number % 2 == 0 ? offset : (number + i) % 2, present, relu, in_place, kernel);
      }
    ++number;
  }
}

// The operation itself takes consecutive pixels, and has the room for their sums.
TYPED_TEST(ConvEpilogueTest, SumsOfConsecutivePixelsByWgmma) {
  using T = typename TypeParam::Element;
  ConvCase c = {26, 13, 13, 64, 128, 1, 1};
  c.options.math = TypeParam::kMath;
  DeviceProperties device;
  ASSERT_TRUE(ok(device_properties(&device)));
  if (device.wgmma && (sizeof(T) == 2 || TypeParam::kMath != Math::fp32)) {
    const ConvGeometry g = geometry_of(c);
    EXPECT_EQ(choose_wgmma_conv_pixels(ConvOperation::forward, g), WgmmaConvPixels::im2col);
    TileNeeds needs = kGatherNeeds;
    needs.arithmetic = arithmetic_of(dtype_of<T>, TypeParam::kMath);
    EXPECT_TRUE(choose_wgmma_conv_tile(ConvOperation::forward, g, 1,
                                       choose_tile(g.output_pixels, g.k, 1, needs, device), device));
  }
  check<T>(c, 0, 0, true, true, false, {});
}

// The operation itself divides a long sum among blocks; then it reads y again for the sums.
TYPED_TEST(ConvEpilogueTest, SumsOfAResultInParts) {
  using T = typename TypeParam::Element;
  ConvCase c = {32, 4, 4, 128, 512, 3, 3, {.stride_h = 1, .stride_w = 1, .pad_h = 1, .pad_w = 1}};
  c.options.math = TypeParam::kMath;
  c.options.algorithm = ConvAlgorithm::direct;
  EXPECT_EQ(conv2d_splits(ConvOperation::forward, geometry_of(c)), 2);
  LaunchNames launches;
  check<T>(c, 0, 0, true, true, false, {});
  EXPECT_EQ(std::ranges::count(launches.names, "sum_partials"), 2);
  EXPECT_EQ(std::ranges::count(launches.names, "batch_norm_sums"), 1);
}

// Sums over many pixels, more than a block of column_sums() adds.
TYPED_TEST(ConvEpilogueTest, SumsOfManyPixelsNarrow) {
  using T = typename TypeParam::Element;
  for (const Kernel& kernel : kernels_for<T>(TypeParam::kMath)) {
    ConvCase c = {20, 33, 30, 8, 16, 1, 1};
    c.options.math = TypeParam::kMath;
    check<T>(c, 0, 0, false, true, false, kernel);
  }
}

// The variance that follows from the sums keeps the bits of a float beside a mean of 1000 and of 9000
// standard deviations (batch_norm.h): the squares of floats would lose it, and parts whose means are floats 9
// bits.
TYPED_TEST(ConvEpilogueTest, VarianceBesideALargeMeanNarrow) {
  using T = typename TypeParam::Element;
  if (sizeof(T) == 2) GTEST_SKIP() << "such values of 16 bits have no variance";
  for (const Kernel& kernel : kernels_for<T>(TypeParam::kMath))
    for (const float mean : {1000.0f, 9000.0f}) {
      SCOPED_TRACE(concat(kernel, ", mean ", mean));
      const Stream stream;
      ConvCase c = {4, 16, 16, 8, 24, 1, 1};
      c.options.math = TypeParam::kMath;
      Operands<T> operands(c, 0, 0, mean);
      if (!operands.fits(kernel)) continue;
      ASSERT_TRUE(ok(operands.run(kernel, operands.epilogue(false, false, true), stream)));
      const std::vector<T> y = operands.y.download();
      const std::vector<double> sums = operands.sums.download();
      const double count = static_cast<double>(c.n * c.p() * c.q());
      for (int64_t k = 0; k < c.k; ++k) {
        long double mean = 0, variance = 0;
        for (size_t i = static_cast<size_t>(k); i < y.size(); i += static_cast<size_t>(c.k))
          mean += static_cast<float>(y[i]) / static_cast<long double>(count);
        for (size_t i = static_cast<size_t>(k); i < y.size(); i += static_cast<size_t>(c.k))
          variance += std::pow(static_cast<float>(y[i]) - mean, 2) / count;
        const double got_mean = sums[static_cast<size_t>(k)] / count,
                     got = std::fma(-got_mean, got_mean, sums[static_cast<size_t>(k + c.k)] / count);
        ASSERT_NEAR(got, static_cast<double>(variance), 0x1p-22 * static_cast<double>(variance))
            << "channel " << k;
      }
    }
}

// An infinity or NaN in a channel makes its sums infinite or NaN, and no other's.
TYPED_TEST(ConvEpilogueTest, InfinitiesReachTheirSumsNarrow) {
  using T = typename TypeParam::Element;
  for (const Kernel& kernel : kernels_for<T>(TypeParam::kMath))
    for (const float value :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      SCOPED_TRACE(concat(kernel, ", ", value));
      const Stream stream;
      ConvCase c = {1, 9, 9, 8, 16, 1, 1};
      c.options.math = TypeParam::kMath;
      Operands<T> operands(c, 0, 0);
      if (!operands.fits(kernel)) continue;
      operands.given_residual[static_cast<size_t>(40 * c.k + 3)] = value;
      operands.residual.upload(rounded<T>(operands.given_residual));
      ASSERT_TRUE(ok(operands.run(kernel, operands.epilogue(true, false, true), stream)));
      const std::vector<double> sums = operands.sums.download();
      for (int64_t k = 0; k < c.k; ++k) {
        EXPECT_EQ(std::isfinite(sums[static_cast<size_t>(k)]), k != 3) << k;
        EXPECT_EQ(std::isfinite(sums[static_cast<size_t>(k + c.k)]), k != 3) << k;
      }
    }
}

// The kernels of mma.sync compute the sums: y is not read again.
TEST(ConvEpilogueLaunches, OfTensorCoresAndOthers) {
  using T = __nv_bfloat16;
  if (const Status supported = check_factor_type("", dtype_of<T>); !supported.ok())
    GTEST_SKIP() << supported.message();
  const Stream stream;
  Operands<T> by_tensor_cores({2, 8, 8, 16, 16, 3, 3}, 0, 0), by_others({2, 8, 8, 1, 16, 3, 3}, 0, 0);
  const auto reads_y = [&](Operands<T>& operands, const Kernel& kernel) {
    LaunchNames launches;
    EXPECT_TRUE(ok(operands.run(kernel, operands.epilogue(false, false, true), stream)));
    return std::ranges::count(launches.names, "batch_norm_sums");
  };
  EXPECT_EQ(reads_y(by_tensor_cores, {mma_tile(rondo::Arithmetic::bf16, 64, 64)}), 0);
  EXPECT_EQ(reads_y(by_others, {}), 1);
}

TEST(ConvEpilogueErrors, NameTheirCause) {
  const Stream stream;
  Operands<float> operands({2, 8, 8, 16, 16, 3, 3}, 0, 0);
  Conv2dEpilogue epilogue = operands.epilogue(true, false, true);
  --epilogue.sums.size;
  Status status = operands.run({}, epilogue, stream);
  EXPECT_NE(status.message().find("sums has 31 elements, must be 2 * out_channels = 32"), std::string::npos)
      << status.message();
  epilogue = operands.epilogue(true, false, true);
  --epilogue.residual.width;
  status = operands.run({}, epilogue, stream);
  EXPECT_NE(status.message().find("residual"), std::string::npos) << status.message();
}

// Without images nothing is computed.
TEST(ConvEpilogue, SumsOfTheMostChannels) {
  constexpr int64_t kMost = int64_t{1} << 20;
  const Stream stream;
  const Buffer<float> filter(kMost + 1);
  Buffer<double> sums(2 * (kMost + 1));
  for (const int64_t channels : {kMost, kMost + 1}) {
    const ImageView<float> y = {nullptr, 0, 1, 1, channels};
    const ImageView<const float> x = {nullptr, 0, 1, 1, 1};
    const FilterView<const float> f = {filter.data(), channels, 1, 1, 1};
    const Status status = conv2d_forward(y, x, f, {}, {.sums = {sums.data(), 2 * channels}}, {}, stream);
    if (channels == kMost)
      EXPECT_TRUE(ok(status));
    else
      EXPECT_TRUE(refused(status, "there are 1048577 out_channels, must be at most 1048576 with sums"));
  }
}

}  // namespace
}  // namespace rondo::test
