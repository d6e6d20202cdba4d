// The convolutions of bfloat16 against their definition in double precision, with every tile: drawn shapes,
// with tails of 1, strides, padding and misalignment.
#include <gtest/gtest.h>

#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>
#include <rondo/tests/kernels/reference/conv_reference.h>
#include <rondo/tests/support/bfloat16.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

namespace rondo::test {
namespace {

using Bf16 = __nv_bfloat16;
using Floats = std::vector<float>;

Conv2dWorkspaceBytes workspace_of(const ConvCase& c) {
  return conv2d_workspace_bytes(x_view<const float>(c, nullptr), filter_view<const float>(c, nullptr),
                                c.options, DType::bfloat16);
}

Floats magnitudes(Floats values) {
  for (float& value : values) value = std::abs(value);
  return values;
}

template <class T>
testing::AssertionResult near(const std::vector<T>& got, const std::vector<double>& want,
                              const std::vector<double>& magnitude, int64_t summands) {
  // Sums are fp32 and truncated; a result of 16 bits is rounded once.
  return all_within(got, want, [&](size_t i) {
    const double sums = static_cast<double>(summands + 3) * 0x1p-23 * magnitude[i];
    return sums + (sizeof(T) == 2 ? std::ldexp(std::abs(want[i]) + sums, -8) : 0);
  });
}

void check(const ConvCase& c, int64_t offset, bool fused, std::optional<TileId> tile) {
  std::ostringstream name;
  PrintTo(c, &name);
  SCOPED_TRACE(concat(name.str(), ", offset ", offset, fused ? ", bias and ReLU" : "", ", tile ",
                      tile ? static_cast<int>(*tile) : -1));
  const Stream stream;
  const Floats x = representable(c.x_size(), 1), filter = representable(c.filter_size(), 2),
               dy = representable(c.y_size(), 3), bias = fused ? normal_values(c.k, 4) : Floats();
  const Floats abs_x = magnitudes(x), abs_filter = magnitudes(filter), abs_dy = magnitudes(dy);
  GuardedBuffer<Bf16> dev_x(rounded(x), offset), dev_filter(rounded(filter), offset),
      dev_dy(rounded(dy), offset), y(c.y_size(), offset), dx(c.x_size(), offset);
  GuardedBuffer<float> dw(c.filter_size()), dev_bias(bias), scratch(workspace_of(c).filter_gradient / 4);

  Conv2dEpilogue epilogue;
  if (fused) epilogue = {.bias = dev_bias.view(), .relu = true};
  ASSERT_TRUE(
      ok(conv2d_forward(tile, y_view(c, y.data()), x_view<const Bf16>(c, dev_x.data()),
                        filter_view<const Bf16>(c, dev_filter.data()), c.options, epilogue, {}, stream)));
  EXPECT_TRUE(near(y.download(), conv2d_reference(c, x, filter, bias, fused),
                   conv2d_reference(c, abs_x, abs_filter, magnitudes(bias), false), c.r * c.s * c.c))
      << "forward";
  ASSERT_TRUE(ok(conv2d_data_gradient(tile, x_view(c, dx.data()), y_view<const Bf16>(c, dev_dy.data()),
                                      filter_view<const Bf16>(c, dev_filter.data()), c.options, {}, stream)));
  EXPECT_TRUE(near(dx.download(), conv2d_data_gradient_reference(c, dy, filter),
                   conv2d_data_gradient_reference(c, abs_dy, abs_filter), c.r * c.s * c.k))
      << "data gradient";
  ASSERT_TRUE(ok(conv2d_filter_gradient(tile, filter_view(c, dw.data()), y_view<const Bf16>(c, dev_dy.data()),
                                        x_view<const Bf16>(c, dev_x.data()), c.options, scratch.workspace(),
                                        stream)));
  EXPECT_TRUE(near(dw.download(), conv2d_filter_gradient_reference(c, dy, x),
                   conv2d_filter_gradient_reference(c, abs_dy, abs_x), c.n * c.p() * c.q()))
      << "filter gradient";
}

class Conv2dBf16 : public testing::Test {
 protected:
  void SetUp() override {
    if (const Status supported = check_factor_type("", DType::bfloat16); !supported.ok())
      GTEST_SKIP() << supported.message();
  }
};

TEST_F(Conv2dBf16, DrawnShapes) {
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
    constexpr TileId kTiles[] = {TileId::kBf16Of64x64, TileId::kBf16Of128x128};
    const int64_t tile = random.below(3);
    check(c, random.below(2) == 0 ? 0 : 1 + random.below(8), random.below(2) == 0,
          tile < 2 ? std::optional(kTiles[tile]) : std::nullopt);
  }
}

// The layers of the programs, with few images. The last one has a long sum over pixels, in parts.
TEST_F(Conv2dBf16, LayersOfTheModels) {
  const Conv2dOptions padded = {.pad_h = 1, .pad_w = 1},
                      strided = {.stride_h = 2, .stride_w = 2, .pad_h = 1, .pad_w = 1};
  check({2, 28, 28, 1, 20, 3, 3}, 0, true, {});
  check({2, 13, 13, 20, 50, 5, 5}, 0, true, {});
  check({2, 8, 8, 64, 128, 3, 3, strided}, 0, false, {});
  check({2, 8, 8, 64, 128, 1, 1, {.stride_h = 2, .stride_w = 2}}, 0, false, {});
  check({1, 4, 4, 256, 128, 3, 3, padded}, 0, false, {});
  check({40, 16, 16, 8, 8, 3, 3, padded}, 0, false, {});
}

TEST_F(Conv2dBf16, EmptyBatch) {
  const ConvCase c = {0, 5, 5, 8, 8, 3, 3};
  const Stream stream;
  GuardedBuffer<Bf16> x(0), dy(0);
  GuardedBuffer<float> dw(c.filter_size());
  ASSERT_TRUE(ok(conv2d_filter_gradient(filter_view(c, dw.data()), y_view<const Bf16>(c, dy.data()),
                                        x_view<const Bf16>(c, x.data()), c.options, {}, stream)));
  EXPECT_TRUE(all_equal_bits(dw.download(), Floats(static_cast<size_t>(c.filter_size()), 0.0f)));
}

TEST_F(Conv2dBf16, BadArguments) {
  const ConvCase c = {1, 5, 5, 8, 8, 3, 3};
  const Stream stream;
  GuardedBuffer<Bf16> x(c.x_size()), y(c.y_size()), filter(c.filter_size());
  const auto forward = [&](const Conv2dOptions& options) {
    return conv2d_forward(y_view(c, y.data()), x_view<const Bf16>(c, x.data()),
                          filter_view<const Bf16>(c, filter.data()), options, {}, {}, stream);
  };
  EXPECT_TRUE(
      refused(forward({.math = Math::tf32}), "conv2d_forward: math is tf32, must be fp32 for bfloat16"));
  EXPECT_TRUE(refused(forward({.algorithm = ConvAlgorithm::winograd}),
                      "conv2d_forward: algorithm is winograd, must be automatic or direct for bfloat16"));
  EXPECT_TRUE(refused(forward({.stride_h = 0}), "conv2d_forward: stride_h is 0"));
}

}  // namespace
}  // namespace rondo::test
