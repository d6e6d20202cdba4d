// The convolutions of bfloat16 and float16 against their definition in double precision, with every tile of
// mma.sync and of wgmma: drawn shapes, with tails of 1, strides, padding and misalignment. The forward
// convolutions and the data gradients in tf32 and tf32x3 by wgmma. conv_tiles_test.cpp has the choice of the
// tiles. Above 400 lines because all of these share their drawn shapes and the comparison.
#include <gtest/gtest.h>

#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/conv/conv_transpose2d.h>
#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>
#include <rondo/kernels/conv/implicit_gemm/wgmma/wgmma_conv.h>
#include <rondo/tests/kernels/convolutions_by_tile.h>
#include <rondo/tests/kernels/launch_names.h>
#include <rondo/tests/kernels/product_errors.h>
#include <rondo/tests/kernels/reference/conv_reference.h>
#include <rondo/tests/kernels/tf32_values.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/narrow.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <type_traits>

namespace rondo::test {
namespace {

using Floats = std::vector<float>;

template <class T>
Conv2dWorkspaceBytes workspace_of(const ConvCase& c) {
  return conv2d_workspace_bytes(x_view<const float>(c, nullptr), filter_view<const float>(c, nullptr),
                                c.options, dtype_of<T>);
}

// That of a convolution of T images by tensor cores.
template <class T>
Arithmetic tensor_arithmetic(const ConvCase& c) {
  return arithmetic_of(dtype_of<T>, c.options.math);
}

Floats magnitudes(Floats values) {
  for (float& value : values) value = std::abs(value);
  return values;
}

template <class T>
testing::AssertionResult near(const std::vector<T>& got, const std::vector<double>& want,
                              const std::vector<double>& magnitude, int64_t summands) {
  // Sums are fp32 and truncated; a result of 16 bits is rounded once.
  constexpr int kBits = std::is_same_v<T, __half> ? 11 : 8;  // of the significand
  return all_within(got, want, [&](size_t i) {
    const double sums = static_cast<double>(summands + 3) * 0x1p-23 * magnitude[i];
    return sums + (sizeof(T) == 2 ? std::ldexp(std::abs(want[i]) + sums, -kBits) + 0x1p-25 : 0);
  });
}

// Runs the three operations, with a tile, or without one with the plan that is chosen.
struct WithTile {
  std::optional<TileId> tile;
  int64_t splits = 1;  // of y and dx

  // Of the workspace for y or dx.
  template <class T>
  int64_t image_workspace(ConvOperation operation, const ConvCase& c) const {
    if (tile) return conv2d_partials_bytes(operation, geometry_of(c), splits);
    const Conv2dWorkspaceBytes bytes = workspace_of<T>(c);
    return operation == ConvOperation::forward ? bytes.forward : bytes.data_gradient;
  }
  template <class T>
  Status forward(const ConvCase& c, T* y, const T* x, const T* filter, const Conv2dEpilogueOf<T>& epilogue,
                 Workspace workspace, cudaStream_t stream) const {
    const ConvPlan plan = plan_of_tile(tile.value_or(TileId()), splits);
    return conv2d_forward_with_plan<T>(tile ? &plan : nullptr, y_view(c, y), x_view(c, x),
                                       filter_view(c, filter), c.options, epilogue, workspace, stream);
  }
  template <class T>
  Status data_gradient(const ConvCase& c, T* dx, const T* dy, const T* filter, float beta,
                       Workspace workspace, cudaStream_t stream) const {
    const ConvPlan plan = plan_of_tile(tile.value_or(TileId()), splits);
    return conv2d_data_gradient_with_plan<T>(tile ? &plan : nullptr, x_view(c, dx), y_view(c, dy),
                                             filter_view(c, filter), c.options, {.beta = beta}, workspace,
                                             stream);
  }
  template <class T>
  Status transposed(const ConvCase& c, T* to, const T* from, const T* filter,
                    const ConvTranspose2dEpilogue& epilogue, Workspace workspace, cudaStream_t stream) const {
    const ConvPlan plan = plan_of_tile(tile.value_or(TileId()), splits);
    return conv_transpose2d_with_plan<T>(tile ? &plan : nullptr, x_view(c, to), y_view(c, from),
                                         filter_view(c, filter), c.options, epilogue, workspace, stream);
  }
  template <class T>
  Status filter_gradient(const ConvCase& c, float* dw, const T* dy, const T* x, float beta,
                         Workspace workspace, cudaStream_t stream) const {
    const ConvPlan plan = filter_plan_of_tile(tile.value_or(TileId()), geometry_of(c));
    return conv2d_filter_gradient_with_plan<T>(tile ? &plan : nullptr, filter_view(c, dw), y_view(c, dy),
                                               x_view(c, x), c.options, {.beta = beta}, workspace, stream);
  }
  friend std::ostream& operator<<(std::ostream& out, const WithTile& with) {
    if (!with.tile) return out << "no tile";
    return out << "tile " << *with.tile << ", " << with.splits << " parts";
  }
};

// The same with a tile of wgmma, of 128 rows; tf32x3 takes 128 columns for 256. What does not fit it runs
// without a tile.
struct WithWgmma {
  int columns;
  std::optional<WgmmaConvPixels> pixels = {};  // none: those that are chosen; also where these do not fit
  int64_t splits = 1;                          // of y and dx

  WgmmaConvPixels pixels_of(ConvOperation operation, const ConvGeometry& g) const {
    const bool fits =
        pixels == WgmmaConvPixels::im2col ? wgmma_im2col_fits(operation, g) : wgmma_box_fits(operation, g);
    return pixels && fits ? *pixels : choose_wgmma_conv_pixels(operation, g);
  }

  TileId tile(Arithmetic arithmetic) const {
    return wgmma_tile(arithmetic, 128, arithmetic == Arithmetic::tf32x3 ? std::min(columns, 128) : columns);
  }
  // Calls launch.operator()<kArithmetic>(tile).
  template <class T, class Launch>
  Status with_arithmetic(const ConvCase& c, Launch&& launch) const {
    const Arithmetic arithmetic = arithmetic_of(dtype_of<T>, c.options.math);
    return with_tensor_arithmetic<T>(arithmetic, [&]<Arithmetic kArithmetic>() {
      return launch.template operator()<kArithmetic>(tile(arithmetic));
    });
  }

  template <class T>
  int64_t image_workspace(ConvOperation operation, const ConvCase& c) const {
    return wgmma_conv_fits(operation, tensor_arithmetic<T>(c), geometry_of(c), nullptr, nullptr)
               ? conv2d_partials_bytes(operation, geometry_of(c), splits)
               : WithTile{}.image_workspace<T>(operation, c);
  }
  template <class T>
  Status forward(const ConvCase& c, T* y, const T* x, const T* filter, const Conv2dEpilogueOf<T>& epilogue,
                 Workspace workspace, cudaStream_t stream) const {
    const ConvGeometry g = geometry_of(c);
    if (!wgmma_conv_fits(ConvOperation::forward, tensor_arithmetic<T>(c), g, x, filter))
      return WithTile{}.forward(c, y, x, filter, epilogue, workspace, stream);
    const ConvEpilogue<T> of_kernel = {.bias = epilogue.bias.data, .relu = epilogue.relu};
    constexpr auto kForward = ConvOperation::forward;
    return with_arithmetic<T>(c, [&]<Arithmetic kArithmetic>(const TileId& tile) {
      return launch_conv2d_wgmma<kArithmetic>(
          "test", kForward, tile, pixels_of(kForward, g),
          {y, x, filter, of_kernel, g, splits, static_cast<float*>(workspace.data)}, stream);
    });
  }
  template <class T>
  Status data_gradient(const ConvCase& c, T* dx, const T* dy, const T* filter, float beta,
                       Workspace workspace, cudaStream_t stream) const {
    if (!wgmma_conv_fits(ConvOperation::data_gradient, tensor_arithmetic<T>(c), geometry_of(c), dy, filter))
      return WithTile{}.data_gradient(c, dx, dy, filter, beta, workspace, stream);
    return backward<T>(c, dx, dy, filter, {.beta = beta}, workspace, stream);
  }
  template <class T>
  Status transposed(const ConvCase& c, T* to, const T* from, const T* filter,
                    const ConvTranspose2dEpilogue& epilogue, Workspace workspace, cudaStream_t stream) const {
    if (!wgmma_conv_fits(ConvOperation::data_gradient, tensor_arithmetic<T>(c), geometry_of(c), from, filter))
      return WithTile{}.transposed(c, to, from, filter, epilogue, workspace, stream);
    return backward<T>(c, to, from, filter, {.bias = epilogue.bias.data, .relu = epilogue.relu}, workspace,
                       stream);
  }
  template <class T>
  Status backward(const ConvCase& c, T* to, const T* from, const T* filter, const ConvEpilogue<T>& epilogue,
                  Workspace workspace, cudaStream_t stream) const {
    const ConvGeometry g = geometry_of(c);
    constexpr auto kGradient = ConvOperation::data_gradient;
    return with_arithmetic<T>(c, [&]<Arithmetic kArithmetic>(const TileId& tile) {
      return launch_conv2d_wgmma<kArithmetic>(
          "test", kGradient, tile, pixels_of(kGradient, g),
          {to, from, filter, epilogue, g, splits, static_cast<float*>(workspace.data)}, stream);
    });
  }
  template <class T>
  Status filter_gradient(const ConvCase& c, float* dw, const T* dy, const T* x, float beta,
                         Workspace workspace, cudaStream_t stream) const {
    const ConvGeometry g = geometry_of(c);
    if (!wgmma_conv_fits(ConvOperation::filter_gradient, tensor_arithmetic<T>(c), g, dy, x))
      return WithTile{}.filter_gradient(c, dw, dy, x, beta, workspace, stream);
    const int64_t part = int64_t{g.patch} * ((g.k + 3) / 4 * 4) * 4;  // bytes
    const int64_t parts = std::max<int64_t>(1, workspace.bytes / part);
    constexpr auto kGradient = ConvOperation::filter_gradient;
    if constexpr (std::is_same_v<T, float>)
      return bad_argument("wgmma has no filter gradient of floats");
    else
      return with_arithmetic<T>(c, [&]<Arithmetic kArithmetic>(const TileId& tile) {
        return launch_filter_gradient_wgmma<kArithmetic>("test", tile, pixels_of(kGradient, g), {dw, beta},
                                                         dy, x, g, parts, static_cast<float*>(workspace.data),
                                                         stream);
      });
  }
  friend std::ostream& operator<<(std::ostream& out, const WithWgmma& with) {
    return out << with.columns << " columns by wgmma, pixels "
               << (with.pixels ? static_cast<int>(*with.pixels) : -1) << ", " << with.splits << " parts";
  }
};

// Of the tensors from 256 bytes, in elements.
struct Offsets {
  Offsets(int64_t all) : x(all), filter(all), dy(all), y(all), dx(all), dw(all) {}
  int64_t x, filter, dy, y, dx, dw;

  friend std::ostream& operator<<(std::ostream& out, const Offsets& o) {
    return out << o.x << " " << o.filter << " " << o.dy << " " << o.y << " " << o.dx << " " << o.dw;
  }
};
// The factors at multiples of 16 bytes, which tensor maps need, the results anywhere.
template <class T>
Offsets offsets_for_wgmma(Random& random) {
  const auto factor = [&] { return random.below(5) * (16 / static_cast<int64_t>(sizeof(T))); };
  Offsets offsets = 0;
  offsets.x = factor(), offsets.filter = factor(), offsets.dy = factor();
  offsets.y = random.below(9), offsets.dx = random.below(9), offsets.dw = random.below(9);
  return offsets;
}

// Repeats `values`.
std::vector<double> plus(std::vector<double> sums, double factor, const Floats& values) {
  for (size_t i = 0; i < sums.size() && !values.empty(); ++i)
    sums[i] += factor * static_cast<double>(values[i % values.size()]);
  return sums;
}

// `fused`: y and the transposed convolution with bias and ReLU, the gradients with old values.
template <class T, class With>
void check(const ConvCase& c, const Offsets& offsets, bool fused, const With& with) {
  std::ostringstream name;
  PrintTo(c, &name);
  SCOPED_TRACE(concat(name.str(), ", offsets ", offsets, fused ? ", bias and ReLU, beta" : "", ", ", with));
  const Stream stream;
  const Floats x = representable<T>(c.x_size(), 1), filter = representable<T>(c.filter_size(), 2),
               dy = representable<T>(c.y_size(), 3), bias = fused ? normal_values(c.k, 4) : Floats(),
               bias_of_x = fused ? normal_values(c.c, 5) : Floats(),
               old_dx = fused ? representable<T>(c.x_size(), 6) : Floats(),
               old_dw = fused ? normal_values(c.filter_size(), 7) : Floats();
  const float beta = fused ? -0.75f : 0;
  const Floats abs_x = magnitudes(x), abs_filter = magnitudes(filter), abs_dy = magnitudes(dy);
  GuardedBuffer<T> dev_x(rounded<T>(x), offsets.x), dev_filter(rounded<T>(filter), offsets.filter),
      dev_dy(rounded<T>(dy), offsets.dy), y(c.y_size(), offsets.y), dx(c.x_size(), offsets.dx);
  GuardedBuffer<float> dw(c.filter_size(), offsets.dw), dev_bias(bias), dev_bias_of_x(bias_of_x),
      scratch(workspace_of<T>(c).filter_gradient / 4),
      of_y(with.template image_workspace<T>(ConvOperation::forward, c) / 4),
      of_dx(with.template image_workspace<T>(ConvOperation::data_gradient, c) / 4);

  Conv2dEpilogueOf<T> epilogue;
  ConvTranspose2dEpilogue of_transposed;
  if (fused) {
    epilogue = {.bias = dev_bias.view(), .relu = true};
    of_transposed = {.bias = dev_bias_of_x.view(), .relu = true};
    dx.upload(rounded<T>(old_dx)), dw.upload(old_dw);
  }
  ASSERT_TRUE(
      ok(with.forward(c, y.data(), dev_x.data(), dev_filter.data(), epilogue, of_y.workspace(), stream)));
  EXPECT_TRUE(near(y.download(), conv2d_reference(c, x, filter, bias, fused),
                   conv2d_reference(c, abs_x, abs_filter, magnitudes(bias), false), c.r * c.s * c.c))
      << "forward";
  ASSERT_TRUE(ok(
      with.data_gradient(c, dx.data(), dev_dy.data(), dev_filter.data(), beta, of_dx.workspace(), stream)));
  const std::vector<double> sums = conv2d_data_gradient_reference(c, dy, filter),
                            magnitude = conv2d_data_gradient_reference(c, abs_dy, abs_filter);
  EXPECT_TRUE(near(dx.download(), plus(sums, beta, old_dx),
                   plus(magnitude, std::abs(beta), magnitudes(old_dx)), c.r * c.s * c.k))
      << "data gradient";
  ASSERT_TRUE(ok(with.transposed(c, dx.data(), dev_dy.data(), dev_filter.data(), of_transposed,
                                 of_dx.workspace(), stream)));
  std::vector<double> transposed = plus(sums, 1, bias_of_x);
  if (fused)
    for (double& value : transposed) value = std::max(value, 0.0);
  EXPECT_TRUE(near(dx.download(), transposed, plus(magnitude, 1, magnitudes(bias_of_x)), c.r * c.s * c.k))
      << "transposed convolution";
  ASSERT_TRUE(
      ok(with.filter_gradient(c, dw.data(), dev_dy.data(), dev_x.data(), beta, scratch.workspace(), stream)));
  EXPECT_TRUE(
      near(dw.download(), plus(conv2d_filter_gradient_reference(c, dy, x), beta, old_dw),
           plus(conv2d_filter_gradient_reference(c, abs_dy, abs_x), std::abs(beta), magnitudes(old_dw)),
           c.n * c.p() * c.q()))
      << "filter gradient";
}
template <class T>
void check(const ConvCase& c, const Offsets& offsets, bool fused) {
  check<T>(c, offsets, fused, WithTile{});
}

template <class T>
class ConvNarrow : public testing::Test {
 protected:
  void SetUp() override {
    if (const Status supported = check_factor_type("", dtype_of<T>); !supported.ok())
      GTEST_SKIP() << supported.message();
  }
};
using Types = testing::Types<__nv_bfloat16, __half>;
TYPED_TEST_SUITE(ConvNarrow, Types);

// Whether a block of the device has the shared memory of the tile.
bool fits(const TileId& tile) {
  DeviceProperties device;
  EXPECT_TRUE(ok(device_properties(&device)));
  const TileInfo& info = tile_info(tile);
  return std::max(shared_bytes(info, kGatherNeeds), shared_bytes(info, kPatchNeeds)) <=
         device.shared_bytes_per_block;
}

TYPED_TEST(ConvNarrow, DrawnShapes) {
  Random random(3);
  const auto channels = [&] {
    constexpr int64_t kOften[] = {1, 3, 8, 9, 16, 20, 33, 64};
    return kOften[random.below(8)];
  };
  for (int draw = 0; draw < 60; ++draw) {
    const int64_t r = 1 + random.below(4), s = 1 + random.below(4);
    ConvCase c = {
        1 + random.below(4), r + random.below(9), s + random.below(9), channels(), channels(), r, s};
    c.options.stride_h = 1 + random.below(3), c.options.stride_w = 1 + random.below(3);
    c.options.pad_h = random.below(3), c.options.pad_w = random.below(3);
    test::draw_dilation_and_sides(random, c);
    constexpr Arithmetic kArithmetic = arithmetic_of(dtype_of<TypeParam>, Math::fp32);
    constexpr TileId kTiles[] = {mma_tile(kArithmetic, 64, 64), mma_tile(kArithmetic, 128, 128)};
    const int64_t tile = random.below(fits(kTiles[1]) ? 3 : fits(kTiles[0]) ? 2 : 1);
    check<TypeParam>(c, random.below(2) == 0 ? 0 : 1 + random.below(8), random.below(2) == 0,
                     tile > 0 ? WithTile{kTiles[tile - 1], 1 + random.below(4)} : WithTile{});
  }
}

constexpr Conv2dOptions kPadded = {.pad_h = 1, .pad_w = 1},
                        kStrided = {.stride_h = 2, .stride_w = 2, .pad_h = 1, .pad_w = 1};

// The layers of the programs, with few images. The last one has a long sum over pixels, in parts.
TYPED_TEST(ConvNarrow, LayersOfTheModels) {
  check<TypeParam>({2, 28, 28, 1, 20, 3, 3}, 0, true);
  check<TypeParam>({2, 13, 13, 20, 50, 5, 5}, 0, true);
  check<TypeParam>({2, 8, 8, 64, 128, 3, 3, kStrided}, 0, false);
  check<TypeParam>({2, 8, 8, 64, 128, 1, 1, {.stride_h = 2, .stride_w = 2}}, 0, false);
  check<TypeParam>({1, 4, 4, 256, 128, 3, 3, kPadded}, 0, false);
  check<TypeParam>({40, 16, 16, 8, 8, 3, 3, kPadded}, 0, false);
}

template <class T>
class ConvNarrowWgmma : public testing::Test {
 protected:
  void SetUp() override {
    DeviceProperties device;
    ASSERT_TRUE(ok(device_properties(&device)));
    if (!device.wgmma) GTEST_SKIP() << "the device has no wgmma";
  }
};
TYPED_TEST_SUITE(ConvNarrowWgmma, Types);

constexpr WgmmaConvPixels kBoxPixels = WgmmaConvPixels::box, kIm2colPixels = WgmmaConvPixels::im2col;
constexpr int kWgmmaColumns[] = {256, 128, 64};

// The combinations of tiles, rows and parts in turn.
WithWgmma drawn_with(int draw) {
  return {kWgmmaColumns[draw % 3], draw / 3 % 2 == 0 ? kBoxPixels : kIm2colPixels, 1 + draw % 4};
}

TYPED_TEST(ConvNarrowWgmma, DrawnShapes) {
  Random random(11);
  for (int draw = 0; draw < 36; ++draw) {
    const auto channels = [&] { return 8 * (1 + random.below(random.below(4) == 0 ? 24 : 9)); };
    const int64_t r = 1 + random.below(4), s = 1 + random.below(4);
    ConvCase c = {
        1 + random.below(9), r + random.below(9), s + random.below(9), channels(), channels(), r, s};
    c.options.stride_h = 1 + random.below(3), c.options.stride_w = 1 + random.below(3);
    c.options.pad_h = random.below(3), c.options.pad_w = random.below(3);
    test::draw_dilation_and_sides(random, c);
    const bool fused = random.below(2) == 0;
    check<TypeParam>(c, offsets_for_wgmma<TypeParam>(random), fused, drawn_with(draw));
  }
}

// The longest strides of tensor maps, 8, and one more, for which there is mma.sync: of either axis. Two have
// 64 pixels in a row or a column.
constexpr ConvCase kLongStrides[] = {
    {2, 20, 19, 8, 16, 2, 3, {.stride_h = 8, .stride_w = 7}},
    {2, 19, 20, 8, 16, 3, 2, {.stride_h = 7, .stride_w = 8}},
    {1, 3, 507, 8, 16, 2, 3, {.stride_h = 1, .stride_w = 8}},
    {1, 507, 3, 8, 16, 3, 2, {.stride_h = 8, .stride_w = 1}},
    {2, 40, 6, 8, 16, 2, 3, {.stride_h = 9, .stride_w = 1}},
    {2, 6, 40, 8, 16, 3, 2, {.stride_h = 1, .stride_w = 9}},
};

// An odd number of filters, which only the forward convolution takes; long strides; more filters than a tile
// has columns; layers of ResNet-18, of which the last has parts.
TYPED_TEST(ConvNarrowWgmma, ChosenShapes) {
  for (int i = 0; i < 6; ++i) {
    const WithWgmma with = drawn_with(i);
    check<TypeParam>({3, 7, 7, 16, 21, 3, 3, kPadded}, 0, true, with);
    check<TypeParam>(kLongStrides[i], 0, false, with);
    check<TypeParam>(kLongStrides[(i + 3) % 6], 0, false, with);  // the other pixels
    check<TypeParam>({1, 5, 5, 8, 320, 3, 3, kPadded}, 0, false, with);
    check<TypeParam>({2, 8, 8, 64, 128, 3, 3, kStrided}, 0, false, with);
    check<TypeParam>({2, 8, 8, 64, 128, 1, 1, {.stride_h = 2, .stride_w = 2}}, 0, false, with);
    check<TypeParam>({1, 4, 4, 256, 128, 3, 3, kPadded}, 0, false, with);
    check<TypeParam>({40, 16, 16, 8, 8, 3, 3, kPadded}, 0, false, with);
  }
}

// Convolutions for which the rows of tiles are consecutive pixels: in odd images, and in even ones of which
// there are few; with strides, paddings that differ, filters that are not square. In one of them the last
// tile is full, and both kinds of rows are as good. With a stride of 2 dx has the boxes of each phase.
constexpr ConvCase kIm2colCases[] = {
    {4, 5, 5, 16, 24, 3, 3, kPadded},
    {8, 14, 14, 8, 72, 3, 3, kPadded},
    {2, 27, 27, 8, 16, 1, 1},
    {128, 3, 3, 8, 8, 3, 1, {.pad_h = 1}},  // 9 tiles in full
    {10, 9, 9, 72, 16, 3, 3, kStrided},
    {3, 29, 22, 8, 136, 5, 2, {.stride_h = 2, .stride_w = 1, .pad_h = 2, .pad_w = 3}},
    {5, 13, 17, 16, 16, 2, 4, {.pad_h = 1, .pad_w = 2}},
};

TYPED_TEST(ConvNarrowWgmma, ConsecutivePixels) {
  for (int i = 0; const ConvCase& c : kIm2colCases) {
    const ConvGeometry g = geometry_of(c);
    EXPECT_EQ(choose_wgmma_conv_pixels(ConvOperation::forward, g), c.n == 128 ? kBoxPixels : kIm2colPixels)
        << i;
    check<TypeParam>(c, 0, i % 2 == 0, WithWgmma{kWgmmaColumns[i % 3], kIm2colPixels});
    ++i;
  }
}

// A factor as the kernels of floats read it: in tf32 they round it, in tf32x3 they split it.
Floats read(const ConvCase& c, const Floats& values) {
  return c.options.math == Math::tf32 ? nearest_tf32(values) : values;
}
testing::AssertionResult near(const ConvCase& c, const Floats& got, const std::vector<double>& want,
                              const std::vector<double>& magnitude, int64_t summands) {
  if (c.options.math != Math::tf32x3) return near(got, want, magnitude, summands);
  const double error = largest_sum_error(Math::tf32x3, true, summands);
  return all_within(got, want, [&](size_t i) { return error * magnitude[i]; });
}

void check_float_forward(const ConvCase& c, bool fused, const WithWgmma& with, const Offsets& offsets = 0) {
  std::ostringstream name;
  PrintTo(c, &name);
  SCOPED_TRACE(concat(name.str(), ", offsets ", offsets, fused ? ", bias and ReLU" : "", ", ", with));
  const Stream stream;
  const Floats given_x = without_ties(normal_values(c.x_size(), 1)),
               given_filter = without_ties(normal_values(c.filter_size(), 2)), x = read(c, given_x),
               filter = read(c, given_filter), bias = fused ? normal_values(c.k, 4) : Floats();
  GuardedBuffer<float> dev_x(given_x, offsets.x), dev_filter(given_filter, offsets.filter), dev_bias(bias),
      y(c.y_size(), offsets.y);
  Conv2dEpilogue epilogue;
  if (fused) epilogue = {.bias = dev_bias.view(), .relu = true};
  const ConvGeometry g = geometry_of(c);
  ASSERT_TRUE(wgmma_conv_fits(ConvOperation::forward, tensor_arithmetic<float>(c), g, dev_x.data(),
                              dev_filter.data()));
  GuardedBuffer<float> parts(with.image_workspace<float>(ConvOperation::forward, c) / 4);
  ASSERT_TRUE(ok(with.forward<float>(c, y.data(), dev_x.data(), dev_filter.data(), epilogue,
                                     parts.workspace(), stream)));
  EXPECT_TRUE(near(c, y.download(), conv2d_reference(c, x, filter, bias, fused),
                   conv2d_reference(c, magnitudes(x), magnitudes(filter), magnitudes(bias), false),
                   c.r * c.s * c.c));
}

// With a tile also the transposed convolution. Without one: by conv2d_data_gradient(). A misaligned filter is
// as good as any: the kernel reads a copy.
void check_float_data_gradient(const ConvCase& c, int64_t filter_offset, std::optional<WithWgmma> with,
                               const Offsets& offsets = 0) {
  std::ostringstream name;
  PrintTo(c, &name);
  SCOPED_TRACE(concat(name.str(), ", filter offset ", filter_offset, ", others ", offsets, ", ",
                      with.value_or(WithWgmma{kWgmmaColumns[0]}), with ? "" : " if none is chosen"));
  const Stream stream;
  const Floats given_dy = without_ties(normal_values(c.y_size(), 1)),
               given_filter = without_ties(normal_values(c.filter_size(), 2)), dy = read(c, given_dy),
               filter = read(c, given_filter);
  GuardedBuffer<float> dev_dy(given_dy, offsets.dy), dev_filter(given_filter, filter_offset),
      dx(c.x_size(), offsets.dx);
  const ConvGeometry g = geometry_of(c);
  ASSERT_TRUE(wgmma_conv_fits(ConvOperation::data_gradient, tensor_arithmetic<float>(c), g, dev_dy.data(),
                              dev_filter.data()));
  constexpr auto kGradient = ConvOperation::data_gradient;
  const std::vector<double> sums = conv2d_data_gradient_reference(c, dy, filter),
                            magnitude = conv2d_data_gradient_reference(c, magnitudes(dy), magnitudes(filter));
  const Floats old = normal_values(c.x_size(), 6);
  const float beta = with ? -0.75f : 0;  // 0: dx keeps the NaN of the buffer
  const int64_t bytes = workspace_of<float>(c).data_gradient, splits = conv2d_splits(kGradient, g);
  ASSERT_EQ(bytes, c.filter_size() * 4 + conv2d_partials_bytes(kGradient, g, splits));
  if (with) {
    GuardedBuffer<float> copy(c.filter_size()), parts(with->image_workspace<float>(kGradient, c) / 4);
    ASSERT_TRUE(ok(transpose_filter(copy.data(), dev_filter.data(), g, stream)));
    const Floats bias = normal_values(c.c, 5);
    GuardedBuffer<float> dev_bias(bias), transposed(c.x_size(), offsets.dx);
    ASSERT_TRUE(ok(with->transposed<float>(c, transposed.data(), dev_dy.data(), copy.data(),
                                           {.bias = dev_bias.view()}, parts.workspace(), stream)));
    EXPECT_TRUE(near(c, transposed.download(), plus(sums, 1, bias), plus(magnitude, 1, magnitudes(bias)),
                     c.r * c.s * c.k))
        << "transposed convolution";
    dx.upload(old);
    ASSERT_TRUE(ok(with->data_gradient<float>(c, dx.data(), dev_dy.data(), copy.data(), beta,
                                              parts.workspace(), stream)));
  } else {
    GuardedBuffer<float> scratch(bytes / 4);
    Workspace workspace = scratch.workspace();
    const auto run = [&] {
      return conv2d_data_gradient(x_view(c, dx.data()), y_view<const float>(c, dev_dy.data()),
                                  filter_view<const float>(c, dev_filter.data()), c.options, {.beta = beta},
                                  workspace, stream);
    };
    workspace.bytes -= 1;
    EXPECT_TRUE(refused(run(), "conv2d_data_gradient: "));
    workspace.bytes += 1;
    LaunchNames launches;
    ASSERT_TRUE(ok(run()));
    std::vector<std::string> expected = {"transpose_filter", "conv2d_data_gradient"};
    if (splits > 1) expected.emplace_back("sum_partials");
    EXPECT_EQ(launches.names, expected);
  }
  EXPECT_TRUE(near(c, dx.download(), plus(sums, beta, old), plus(magnitude, std::abs(beta), magnitudes(old)),
                   c.r * c.s * c.k));
}

class ConvFloatWgmma : public testing::TestWithParam<Math> {
 protected:
  void SetUp() override {
    DeviceProperties device;
    ASSERT_TRUE(ok(device_properties(&device)));
    if (!device.wgmma) GTEST_SKIP() << "the device has no wgmma";
  }
  static Conv2dOptions in_math(Conv2dOptions options) {
    options.math = GetParam();
    return options;
  }
  // `summed` channels are in multiples of 4, `others` are any.
  static ConvCase draw(Random& random, int64_t ConvCase::*summed, int64_t ConvCase::*others) {
    const int64_t r = 1 + random.below(4), s = 1 + random.below(4);
    ConvCase c = {1 + random.below(9), r + random.below(9), s + random.below(9), 0, 0, r, s,
                  {.math = GetParam()}};
    c.*summed = 4 * (1 + random.below(20));
    c.*others = 1 + random.below(70);
    c.options.stride_h = 1 + random.below(3), c.options.stride_w = 1 + random.below(3);
    c.options.pad_h = random.below(3), c.options.pad_w = random.below(3);
    test::draw_dilation_and_sides(random, c);
    // wgmma has no data gradient with both along one axis.
    if (c.options.stride_h > 1) c.options.dilation_h = 1;
    if (c.options.stride_w > 1) c.options.dilation_w = 1;
    return c;
  }
};

TEST_P(ConvFloatWgmma, Forward) {
  Random random(12);
  for (int i = 0; i < 24; ++i) {
    const ConvCase c = draw(random, &ConvCase::c, &ConvCase::k);
    const bool fused = random.below(2) == 0;
    check_float_forward(c, fused, drawn_with(i), offsets_for_wgmma<float>(random));
  }
  for (int i = 0; i < 6; ++i) {
    const WithWgmma with = drawn_with(i);
    check_float_forward({2, 20, 19, 8, 16, 2, 3, in_math({.stride_h = 8, .stride_w = 7})}, false, with);
    check_float_forward({2, 8, 8, 64, 128, 3, 3, in_math(kStrided)}, true, with);
    check_float_forward({1, 4, 4, 256, 320, 3, 3, in_math(kPadded)}, false, with);
  }
}

TEST_P(ConvFloatWgmma, ConsecutivePixels) {
  for (int i = 0; ConvCase c : kIm2colCases) {
    c.options.math = GetParam();
    check_float_forward(c, i % 2 == 0, {kWgmmaColumns[i % 3], kIm2colPixels});
    check_float_data_gradient(c, i % 2, WithWgmma{kWgmmaColumns[i % 3], kIm2colPixels});
    ++i;
  }
}

TEST_P(ConvFloatWgmma, DataGradient) {
  Random random(13);
  for (int i = 0; i < 24; ++i) {
    const ConvCase c = draw(random, &ConvCase::k, &ConvCase::c);
    const int64_t filter_offset = random.below(4);
    check_float_data_gradient(c, filter_offset, drawn_with(i), offsets_for_wgmma<float>(random));
  }
  for (int i = 0; i < 6; ++i) {
    const WithWgmma with = drawn_with(i);
    check_float_data_gradient({2, 20, 19, 8, 16, 2, 3, in_math({.stride_h = 8, .stride_w = 7})}, 0, with);
    check_float_data_gradient({2, 8, 8, 64, 128, 3, 3, in_math(kStrided)}, 0, with);
    check_float_data_gradient({1, 4, 4, 320, 256, 3, 3, in_math(kPadded)}, 0, with);
  }
  // The operation takes the kernel for a shape that fills its tiles.
  const ConvCase large = {264, 8, 8, 256, 28, 2, 1, in_math({})};
  DeviceProperties device;
  ASSERT_TRUE(ok(device_properties(&device)));
  ASSERT_TRUE(choose_wgmma_conv_tile(ConvOperation::data_gradient, geometry_of(large), 1,
                                     mma_tile(arithmetic_of(DType::float32, GetParam()), 128, 128), device));
  check_float_data_gradient(large, 3, std::nullopt);
  // Its partial sums are before the copy of the filter.
  const ConvCase divided = {20, 4, 4, 256, 512, 3, 3, in_math(kPadded)};
  ASSERT_EQ(conv2d_splits(ConvOperation::data_gradient, geometry_of(divided)), 9);
  check_float_data_gradient(divided, 0, std::nullopt);
}

#ifdef __SIMT__
// wgmma and mma.sync add the same products of each step (8 values of k) in the same order, and the executor
// truncates both in the same way. With channels in multiples of 32 their k-tiles are the same.
TEST_P(ConvFloatWgmma, HasTheBitsOfMmaSync) {
  const TileId tile = mma_tile(arithmetic_of(DType::float32, GetParam()), 64, 64);
  for (const ConvCase& c : {ConvCase{3, 9, 7, 64, 32, 3, 3, in_math(kPadded)},
                            ConvCase{2, 8, 8, 32, 96, 3, 3, in_math(kStrided)}}) {
    const Stream stream;
    const GuardedBuffer<float> x(without_ties(normal_values(c.x_size(), 1))),
        filter(without_ties(normal_values(c.filter_size(), 2))),
        dy(without_ties(normal_values(c.y_size(), 3)));
    const auto run = [&](const auto& with, const float* filter_of_dx) {
      GuardedBuffer<float> y(c.y_size()), dx(c.x_size());
      EXPECT_TRUE(ok(with.template forward<float>(c, y.data(), x.data(), filter.data(), {}, {}, stream)));
      EXPECT_TRUE(
          ok(with.template data_gradient<float>(c, dx.data(), dy.data(), filter_of_dx, 0, {}, stream)));
      return std::pair(y.download(), dx.download());
    };
    GuardedBuffer<float> transposed(c.filter_size());
    ASSERT_TRUE(ok(transpose_filter(transposed.data(), filter.data(), geometry_of(c), stream)));
    const auto [y, dx] = run(WithTile{tile}, filter.data());
    for (const int wide : kWgmmaColumns) {
      const auto [y_of_wgmma, dx_of_wgmma] = run(WithWgmma{wide, kBoxPixels}, transposed.data());
      EXPECT_TRUE(all_equal_bits(y_of_wgmma, y));
      EXPECT_TRUE(all_equal_bits(dx_of_wgmma, dx));
    }
  }
}
#endif

INSTANTIATE_TEST_SUITE_P(Maths, ConvFloatWgmma, testing::Values(Math::tf32, Math::tf32x3),
                         [](const auto& math) { return std::string(name_of(math.param)); });

TYPED_TEST(ConvNarrow, EmptyBatch) {
  const ConvCase c = {0, 5, 5, 8, 8, 3, 3};
  const Stream stream;
  GuardedBuffer<TypeParam> x(0), dy(0);
  GuardedBuffer<float> dw(c.filter_size());
  ASSERT_TRUE(ok(conv2d_filter_gradient(filter_view(c, dw.data()), y_view<const TypeParam>(c, dy.data()),
                                        x_view<const TypeParam>(c, x.data()), c.options, {}, {}, stream)));
  EXPECT_TRUE(all_equal_bits(dw.download(), Floats(static_cast<size_t>(c.filter_size()), 0.0f)));
}

TYPED_TEST(ConvNarrow, BadArguments) {
  const ConvCase c = {1, 5, 5, 8, 8, 3, 3};
  const Stream stream;
  GuardedBuffer<TypeParam> x(c.x_size()), y(c.y_size()), filter(c.filter_size());
  const auto forward = [&](const Conv2dOptions& options) {
    return conv2d_forward(y_view(c, y.data()), x_view<const TypeParam>(c, x.data()),
                          filter_view<const TypeParam>(c, filter.data()), options, {}, {}, stream);
  };
  EXPECT_TRUE(refused(forward({.math = Math::tf32}), concat("conv2d_forward: math is tf32, must be fp32 for ",
                                                            name_of(dtype_of<TypeParam>))));
  EXPECT_TRUE(refused(forward({.algorithm = ConvAlgorithm::winograd}),
                      concat("conv2d_forward: algorithm is winograd, must be automatic or direct for ",
                             name_of(dtype_of<TypeParam>))));
  EXPECT_TRUE(refused(forward({.stride_h = 0}), "conv2d_forward: stride_h is 0"));
}

}  // namespace
}  // namespace rondo::test
