// Convolutions and their gradients of every arithmetic against double precision: drawn shapes, also empty
// ones, strides, padding, misalignment, algorithms and tiles; gradients added to old values, and transposed
// convolutions. Of tf32 and tf32x3 by mma.sync every tile. The bounds are those of product_errors.h.
// conv_narrow_test.cpp has draws by wgmma.
// Above 400 lines because all types share the draws and the check against the reference.
#include <gtest/gtest.h>

#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/conv/conv_plan.h>
#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>
#include <rondo/tests/kernels/convolutions_by_tile.h>
#include <rondo/tests/kernels/drawn_convolutions.h>
#include <rondo/tests/kernels/factor_kinds.h>
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
#include <set>
#include <string>
#include <type_traits>
#include <vector>

namespace rondo::test {
namespace {

using Floats = std::vector<float>;

Floats absolute(Floats values) {
  for (float& value : values) value = std::abs(value);
  return values;
}

class DrawnTensorConvolutions : public testing::TestWithParam<Math> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(ok(device_properties(&device_)));
    if (!check_math("", GetParam()).ok()) GTEST_SKIP() << "the device has no such products";
  }

  static ConvCase draw(Random& random) {
    constexpr int64_t kOften[] = {1, 3, 4, 7, 8, 16, 20, 33, 64, 65};
    const auto channels = [&] {
      return random.below(4) == 0 ? 1 + random.below(130) : kOften[random.below(10)];
    };
    const int64_t r = 1 + random.below(4), s = 1 + random.below(4);
    ConvCase c = {1 + random.below(random.below(8) == 0 ? 140 : 5),
                  r + random.below(9),
                  s + random.below(9),
                  channels(),
                  channels(),
                  r,
                  s};
    if (c.n > 5) c.h = r + random.below(3), c.w = s + random.below(3), c.c = c.k = 1 + random.below(20);
    c.options.stride_h = 1 + random.below(3), c.options.stride_w = 1 + random.below(3);
    c.options.pad_h = random.below(3), c.options.pad_w = random.below(3);
    draw_dilation_and_sides(random, c);
    return c;
  }

  testing::AssertionResult near(const Floats& got, const std::vector<double>& want,
                                const std::vector<double>& magnitude, int64_t summands) const {
    const double error = largest_sum_error(GetParam(), true, summands);
    return all_within(got, want, [&](size_t i) { return error * magnitude[i]; });
  }

  void check(const ConvCase& c, const TileInfo& tile, int64_t splits, int64_t offset, bool fused) const {
    const Floats given_x = without_ties(normal_values(c.x_size(), 1)),
                 given_filter = without_ties(normal_values(c.filter_size(), 2)),
                 given_dy = without_ties(normal_values(c.y_size(), 3)),
                 bias = fused ? normal_values(c.k, 4) : Floats();
    const auto factor = [&](const Floats& values) {
      return GetParam() == Math::tf32 ? nearest_tf32(values) : values;
    };
    const Floats x = factor(given_x), filter = factor(given_filter), dy = factor(given_dy);
    const Floats abs_x = absolute(x), abs_filter = absolute(filter), abs_dy = absolute(dy);
    const int64_t pixels = c.n * c.p() * c.q();
    GuardedBuffer<float> in(given_x, offset), weights(given_filter, offset), gradient(given_dy, offset),
        biases(bias), y(c.y_size(), offset), dx(c.x_size(), offset), dw(c.filter_size(), offset),
        scratch(gemm_workspace_bytes({c.r * c.s * c.c, c.k, pixels}) / 4),
        of_y(splits * pixels * ((c.k + 3) / 4 * 4)), of_dx(splits * c.n * c.h * c.w * ((c.c + 3) / 4 * 4));
    const Stream stream;
    const ConvPlan with = plan_of_tile(tile.id, splits), of_dw = filter_plan_of_tile(tile.id, geometry_of(c));
    Conv2dEpilogue epilogue;
    if (fused) epilogue = {.bias = biases.view(), .relu = true};
    if (shared_bytes(tile, kGatherNeeds) <= device_.shared_bytes_per_block) {
      ASSERT_TRUE(ok(conv2d_forward_with_plan<float>(
          &with, y_view(c, y.data()), x_view<const float>(c, in.data()),
          filter_view<const float>(c, weights.data()), options_for(c.options, tile.id), epilogue,
          of_y.workspace(), stream)));
      EXPECT_TRUE(near(y.download(), conv2d_reference(c, x, filter, bias, fused),
                       conv2d_reference(c, abs_x, abs_filter, absolute(bias), false), c.r * c.s * c.c))
          << "forward";
      ASSERT_TRUE(ok(conv2d_data_gradient_with_plan<float>(
          &with, x_view(c, dx.data()), y_view<const float>(c, gradient.data()),
          filter_view<const float>(c, weights.data()), options_for(c.options, tile.id), {}, of_dx.workspace(),
          stream)));
      EXPECT_TRUE(near(dx.download(), conv2d_data_gradient_reference(c, dy, filter),
                       conv2d_data_gradient_reference(c, abs_dy, abs_filter), c.r * c.s * c.k))
          << "data gradient";
    }
    if (shared_bytes(tile, kPatchNeeds) <= device_.shared_bytes_per_block) {
      ASSERT_TRUE(ok(conv2d_filter_gradient_with_plan<float>(
          &of_dw, filter_view(c, dw.data()), y_view<const float>(c, gradient.data()),
          x_view<const float>(c, in.data()), options_for(c.options, tile.id), {}, scratch.workspace(),
          stream)));
      EXPECT_TRUE(near(dw.download(), conv2d_filter_gradient_reference(c, dy, x),
                       conv2d_filter_gradient_reference(c, abs_dy, abs_x), pixels))
          << "filter gradient";
    }
  }

  DeviceProperties device_;
};

TEST_P(DrawnTensorConvolutions, WithinTheBound) {
  Random random(23 + static_cast<uint64_t>(GetParam()));
  for (int i = 0; i < 80; ++i) {
    const ConvCase c = draw(random);
    const int64_t offset = random.below(2) == 0 ? 0 : random.below(5);
    const bool fused = random.below(2) != 0;
    const int64_t splits = 1 + random.below(3);
    for (const TileInfo& tile : tile_infos()) {
      if (tile.id.arithmetic != arithmetic_of(DType::float32, GetParam())) continue;
      if (tile.id.instruction == Instruction::wgmma) continue;
      SCOPED_TRACE(concat("draw ", i, ": ", testing::PrintToString(c), ", tile ", tile.id, ", parts ", splits,
                          ", offset ", offset, fused ? ", bias and ReLU" : ""));
      ASSERT_NO_FATAL_FAILURE(check(c, tile, splits, offset, fused));
      ASSERT_FALSE(HasFailure());
    }
  }
}

template <class A>
class DrawnConvolutions : public testing::Test {
 protected:
  using T = typename A::T;
  using Draws = ConvDraws<A>;

  void SetUp() override {
    if (!Draws::supported()) GTEST_SKIP() << "the device has no such products";
  }

  // A factor as the method reads it.
  static Floats read(ConvMethod method, const Floats& values) {
    return A::kMath == Math::tf32 && method == ConvMethod::implicit_gemm ? nearest_tf32(values) : values;
  }
  // Winograd's algorithm has no error: then all values are multiples of 1/64.
  template <class R>
  static testing::AssertionResult near(ConvMethod method, const std::vector<R>& got,
                                       const std::vector<double>& want, const std::vector<double>& magnitude,
                                       int64_t summands) {
    const double error = method == ConvMethod::winograd ? 0
                         : method == ConvMethod::few_channels || method == ConvMethod::grouped
                             ? largest_sum_error(Math::fp32, false, summands)
                             : largest_sum_error(A::kMath, uses_tensor_cores(Draws::kArithmetic), summands);
    return all_within(got, want, [&](size_t i) {
      const double sums = error * magnitude[i];
      return sums + (sizeof(R) == 2 ? rounding_error<R>(std::abs(want[i]) + sums) : 0);
    });
  }

  static std::vector<double> with_bias(std::vector<double> sums, const Floats& bias, bool relu) {
    for (size_t i = 0; i < sums.size(); ++i) {
      if (!bias.empty()) sums[i] += static_cast<double>(bias[i % bias.size()]);
      if (relu) sums[i] = std::max(sums[i], 0.0);
    }
    return sums;
  }
  static std::vector<double> channel_sums(const Floats& dy, int64_t channels) {
    std::vector<double> sums(static_cast<size_t>(channels));
    for (size_t i = 0; i < dy.size(); ++i) sums[i % sums.size()] += static_cast<double>(dy[i]);
    return sums;
  }

  void check(const ConvDraw& d) {
    const ConvCase& c = d.c;
    constexpr auto kForward = ConvOperation::forward, kDataGradient = ConvOperation::data_gradient,
                   kFilterGradient = ConvOperation::filter_gradient;
    const ConvMethod of_y = Draws::method(d, kForward), of_dx = Draws::method(d, kDataGradient),
                     of_dw = Draws::method(d, kFilterGradient);
    bool exact = false;
    for (const ConvMethod one : {of_y, of_dx, of_dw}) {
      exact |= one == ConvMethod::winograd;
      seen_.insert(one);
    }
    const auto values = [&](int64_t size, uint64_t seed) {
      return exact ? exact_values(size, seed) : without_ties(representable<T>(size, seed));
    };
    const ConvInputs in = Draws::inputs(d, values);
    const auto& [x, filter, dy, bias, transposed_bias, old_dx, old_dw, old_db] = in;
    const Floats abs_x = absolute(x), abs_filter = absolute(filter), abs_dy = absolute(dy);
    const ConvResults<T> got = Draws::compute(d, in);
    const auto plus_old = [&](std::vector<double> sums, const Floats& old, double beta) {
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += beta * static_cast<double>(old[i]);
      return sums;
    };
    const double beta = d.beta, magnitude = std::abs(beta);
    EXPECT_TRUE(near(of_y, got.y, conv2d_reference(c, read(of_y, x), read(of_y, filter), bias, d.fused),
                     conv2d_reference(c, read(of_y, abs_x), read(of_y, abs_filter), absolute(bias), false),
                     c.r * c.s * c.in_channels()))
        << "forward";
    const std::vector<double> dx = conv2d_data_gradient_reference(c, read(of_dx, dy), read(of_dx, filter)),
                              abs_dx = conv2d_data_gradient_reference(c, read(of_dx, abs_dy),
                                                                      read(of_dx, abs_filter));
    const int64_t summands = c.r * c.s * c.k / c.options.groups;
    EXPECT_TRUE(near(of_dx, got.dx, plus_old(dx, old_dx, beta), plus_old(abs_dx, absolute(old_dx), magnitude),
                     summands))
        << "data gradient";
    EXPECT_TRUE(near(of_dx, got.transposed, with_bias(dx, transposed_bias, d.fused),
                     with_bias(abs_dx, absolute(transposed_bias), false), summands))
        << "transposed convolution";
    EXPECT_TRUE(
        near(of_dw, got.dw,
             plus_old(conv2d_filter_gradient_reference(c, read(of_dw, dy), read(of_dw, x)), old_dw, beta),
             plus_old(conv2d_filter_gradient_reference(c, read(of_dw, abs_dy), read(of_dw, abs_x)),
                      absolute(old_dw), magnitude),
             c.n * c.p() * c.q()))
        << "filter gradient";
    EXPECT_TRUE(near(ConvMethod::few_channels, got.db, plus_old(channel_sums(dy, c.k), old_db, beta),
                     plus_old(channel_sums(abs_dy, c.k), absolute(old_db), magnitude), c.n * c.p() * c.q()))
        << "bias gradient";
  }

  std::set<ConvMethod> seen_;
};

struct Names {
  template <class A>
  static std::string GetName(int) {
    return ConvDraws<A>::name();
  }
};
TYPED_TEST_SUITE(DrawnConvolutions, ConvArithmetics, Names);

TYPED_TEST(DrawnConvolutions, WithinTheBound) {
  using A = TypeParam;
  const ConvDraws<A> draws;
  Random random(draws.seed());
  bool no_images = false, no_inputs = false, no_filters = false, only_padding = false;
  constexpr bool kHasWinograd = std::is_same_v<A, ConvArithmetic<float, Math::fp32>>;
  for (int i = 0; i < (kHasWinograd ? 240 : 120); ++i) {
    const ConvDraw d = draws.draw(random);
    SCOPED_TRACE(concat("draw ", i, ": ", draws.describe(d)));
    ASSERT_NO_FATAL_FAILURE(this->check(d));
    ASSERT_FALSE(this->HasFailure());
    no_images |= d.c.n == 0, no_inputs |= d.c.c == 0, no_filters |= d.c.k == 0, only_padding |= d.c.h == 0;
  }
  EXPECT_TRUE(no_images && no_inputs && no_filters && only_padding);
  EXPECT_EQ(this->seen_.size(), kHasWinograd ? 4u : 3u) << "methods";
}

// The error of tf32x3 is at most 1.5 times that of strict fp32: the root mean square and, of these values,
// the largest. The sums have 24 products or more: shorter ones have more error (docs/numerics.md).
TEST(TensorConvolutions, Tf32x3HasTheErrorOfFp32) {
  if (!check_math("", Math::tf32x3).ok()) GTEST_SKIP() << "the device has no such products";
  const auto compare = [](int64_t summands, const std::vector<double>& exact,
                          const std::vector<double>& magnitude, auto&& run) {
    const RelativeErrors of_fp32 = relative_errors(run(fma_tile(64, 64)), exact, magnitude),
                         of_tf32x3 =
                             relative_errors(run(mma_tile(Arithmetic::tf32x3, 64, 64)), exact, magnitude);
    // A large error of fp32 would allow one of tf32x3.
    EXPECT_LE(of_fp32.largest, largest_sum_error(Math::fp32, false, summands));
    EXPECT_LE(of_tf32x3.root_mean_square, 1.5 * of_fp32.root_mean_square);
    EXPECT_LE(of_tf32x3.largest, 1.5 * of_fp32.largest);
    EXPECT_LE(of_tf32x3.largest, largest_sum_error(Math::tf32x3, true, summands));
  };
  // 3 x 3 filters with padding; 1 x 1 filters with stride 2, whose sums are short.
  for (const ConvCase& c : {ConvCase{4, 10, 10, 48, 40, 3, 3, {.pad_h = 1, .pad_w = 1}},
                            ConvCase{5, 13, 12, 32, 24, 1, 1, {.stride_h = 2, .stride_w = 2}}})
    for (const FactorKind kind : kFactorKinds) {
      const int64_t pixels = c.n * c.p() * c.q();
      GuardedBuffer<float> y(c.y_size()), dx(c.x_size()), dw(c.filter_size()),
          scratch(gemm_workspace_bytes({c.r * c.s * c.c, c.k, pixels}) / 4);
      const Stream stream;
      const auto image_of_x = [&](int64_t i) { return i / (c.h * c.w * c.c); };
      const auto image_of_y = [&](int64_t i) { return i / (c.p() * c.q() * c.k); };
      const auto channel = [&](int64_t i) { return i % c.c; };
      const auto filter_of_y = [&](int64_t i) { return i % c.k; };
      const auto filter_of = [&](int64_t i) { return i / (c.r * c.s * c.c); };
      {
        SCOPED_TRACE(concat("forward, ", name_of(kind), ", ", testing::PrintToString(c)));
        const Floats x = factors(kind, c.x_size(), 1, image_of_x),
                     filter = factors(kind, c.filter_size(), 2, filter_of);
        GuardedBuffer<float> in(x), weights(filter);
        compare(c.r * c.s * c.c, conv2d_reference(c, x, filter, {}, false),
                conv2d_reference(c, absolute(x), absolute(filter), {}, false), [&](const TileId& tile) {
                  const ConvPlan plan = plan_of_tile(tile);
                  EXPECT_TRUE(ok(conv2d_forward_with_plan<float>(
                      &plan, y_view(c, y.data()), x_view<const float>(c, in.data()),
                      filter_view<const float>(c, weights.data()), options_for(c.options, tile), {}, {},
                      stream)));
                  return y.download();
                });
      }
      {
        SCOPED_TRACE(concat("data gradient, ", name_of(kind), ", ", testing::PrintToString(c)));
        const Floats dy = factors(kind, c.y_size(), 3, image_of_y),
                     filter = factors(kind, c.filter_size(), 2, channel);
        GuardedBuffer<float> gradient(dy), weights(filter);
        compare(c.r * c.s * c.k, conv2d_data_gradient_reference(c, dy, filter),
                conv2d_data_gradient_reference(c, absolute(dy), absolute(filter)), [&](const TileId& tile) {
                  const ConvPlan plan = plan_of_tile(tile);
                  EXPECT_TRUE(ok(conv2d_data_gradient_with_plan<float>(
                      &plan, x_view(c, dx.data()), y_view<const float>(c, gradient.data()),
                      filter_view<const float>(c, weights.data()), options_for(c.options, tile), {}, {},
                      stream)));
                  return dx.download();
                });
      }
      {
        SCOPED_TRACE(concat("filter gradient, ", name_of(kind), ", ", testing::PrintToString(c)));
        const Floats dy = factors(kind, c.y_size(), 3, filter_of_y),
                     x = factors(kind, c.x_size(), 1, channel);
        GuardedBuffer<float> gradient(dy), in(x);
        compare(pixels, conv2d_filter_gradient_reference(c, dy, x),
                conv2d_filter_gradient_reference(c, absolute(dy), absolute(x)), [&](const TileId& tile) {
                  const ConvPlan plan = filter_plan_of_tile(tile, geometry_of(c));
                  EXPECT_TRUE(ok(conv2d_filter_gradient_with_plan<float>(
                      &plan, filter_view(c, dw.data()), y_view<const float>(c, gradient.data()),
                      x_view<const float>(c, in.data()), options_for(c.options, tile), {},
                      scratch.workspace(), stream)));
                  return dw.download();
                });
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Maths, DrawnTensorConvolutions, testing::Values(Math::tf32, Math::tf32x3),
                         [](const auto& math) { return std::string(name_of(math.param)); });

}  // namespace
}  // namespace rondo::test
