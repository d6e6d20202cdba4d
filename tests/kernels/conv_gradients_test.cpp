// Gradients of convolutions that are added to old values, and the gradient of the bias, for every algorithm:
// their bits, which kernels compute them, empty sums, bad arguments. conv_drawn_test.cpp compares them with
// the definition.
#include <gtest/gtest.h>

#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/conv/conv_plan.h>
#include <rondo/kernels/reduce/bias_gradient.h>
#include <rondo/tests/kernels/convolutions_by_tile.h>
#include <rondo/tests/kernels/launch_names.h>
#include <rondo/tests/kernels/reference/conv_reference.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace rondo::test {
namespace {

using Floats = std::vector<float>;

struct Algorithm {
  const char* name;
  ConvMethod method;
  ConvCase of_one_part, of_parts;  // the filter gradient's
};
void PrintTo(const Algorithm& algorithm, std::ostream* out) { *out << algorithm.name; }
const Algorithm kAlgorithms[] = {
    {"few_channels", ConvMethod::few_channels, {1, 5, 6, 2, 9, 3, 3}, {3, 40, 7, 3, 70, 3, 3}},
    {"groups",
     ConvMethod::grouped,
     {1, 5, 6, 6, 9, 3, 3, {.groups = 3}},
     {3, 60, 7, 40, 40, 3, 3, {.pad_h = 1, .groups = 40}}},
    {"winograd",
     ConvMethod::winograd,
     {1, 6, 6, 16, 16, 3, 3, {.algorithm = ConvAlgorithm::winograd}},
     {2, 42, 44, 16, 32, 3, 3, {.pad_w = 1, .algorithm = ConvAlgorithm::winograd}}},
    {"implicit_gemm", ConvMethod::implicit_gemm, {1, 4, 4, 5, 7, 3, 3}, {6, 30, 20, 20, 24, 3, 3}},
};

ConvProblem filter_gradient_of(const ConvCase& c) {
  return {ConvOperation::filter_gradient, geometry_of(c), Arithmetic::fp32, c.options.algorithm};
}

class Conv2dGradients : public testing::TestWithParam<Algorithm> {
 protected:
  // dw and the gradient of the bias, from old values.
  struct Results {
    Floats dw, db;
  };
  Results filter_gradient(const ConvCase& c, float beta, bool with_bias = true) {
    GuardedBuffer<float> dy(normal_values(c.y_size(), 1)), x(normal_values(c.x_size(), 2)),
        dw(normal_values(c.filter_size(), 3)), db(normal_values(c.k, 4));
    if (beta == 0) {
      dw.upload(Floats(static_cast<size_t>(c.filter_size()), NAN));
      db.upload(Floats(static_cast<size_t>(c.k), NAN));
    }
    const Conv2dWorkspaceBytes bytes = workspace_bytes(c);
    GuardedBuffer<float> scratch((with_bias ? bytes.filter_gradient_bias : bytes.filter_gradient) / 4);
    Conv2dFilterGradientEpilogue epilogue = {.beta = beta};
    if (with_bias) epilogue.bias_gradient = db.view();
    EXPECT_TRUE(
        ok(conv2d_filter_gradient(filter_view(c, dw.data()), y_view(c, dy.data()), x_view(c, x.data()),
                                  c.options, epilogue, scratch.workspace(), stream_)));
    return {dw.download(), db.download()};
  }
  static Floats plus_old(Floats sums, uint64_t seed, float beta) {
    const Floats old = normal_values(std::ssize(sums), seed);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = std::fma(beta, old[i], sums[i]);
    return sums;
  }
  Stream stream_;
};

TEST_P(Conv2dGradients, TheOldValuesAreAddedOnceAfterTheSum) {
  const Algorithm& algorithm = GetParam();
  for (const auto& [c, parts] : {std::pair(algorithm.of_one_part, false), {algorithm.of_parts, true}}) {
    SCOPED_TRACE(testing::PrintToString(c));
    ASSERT_EQ(choose_conv_method(filter_gradient_of(c)), algorithm.method);
    ASSERT_EQ(conv_parts(filter_gradient_of(c)) > 1, parts);
    const Results sums = filter_gradient(c, 0);
    EXPECT_TRUE(all_equal_bits(filter_gradient(c, 0, false).dw, sums.dw)) << "without the bias";
    for (const float beta : {1.0f, -0.3f}) {
      const Results got = filter_gradient(c, beta), again = filter_gradient(c, beta);
      EXPECT_TRUE(all_equal_bits(got.dw, plus_old(sums.dw, 3, beta))) << "beta " << beta;
      EXPECT_TRUE(all_equal_bits(got.db, plus_old(sums.db, 4, beta))) << "beta " << beta;
      EXPECT_TRUE(all_equal_bits(again.dw, got.dw));
      EXPECT_TRUE(all_equal_bits(again.db, got.db));
    }
  }
}

// The threads of direct/ have dy in registers. The others call the kernel of bias_gradient().
TEST_P(Conv2dGradients, TheBiasComesFromThePassThatHasDy) {
  const Algorithm& algorithm = GetParam();
  for (const ConvCase& c : {algorithm.of_one_part, algorithm.of_parts}) {
    Floats got;
    {
      LaunchNames launches;
      got = filter_gradient(c, 0).db;
      const bool in_pass = std::ranges::count(launches.names, "bias_gradient") == 0;
      EXPECT_EQ(in_pass, has_bias_gradient(algorithm.method));
      if (in_pass) continue;
    }
    GuardedBuffer<float> dy(normal_values(c.y_size(), 1)), db(c.k),
        scratch(bias_gradient_workspace_bytes(c.n * c.p() * c.q(), c.k) / 4);
    ASSERT_TRUE(ok(bias_gradient<const float>(db.view(), {dy.data(), c.n * c.p() * c.q(), c.k}, 0,
                                              scratch.workspace(), stream_)));
    EXPECT_TRUE(all_equal_bits(got, db.download()));
  }
}

TEST_P(Conv2dGradients, EmptySumsKeepTheOldValuesTimesBeta) {
  ConvCase none = GetParam().of_parts;
  none.n = 0;
  const Results got = filter_gradient(none, 0.5f);
  const auto halves = [](int64_t size, uint64_t seed) {
    Floats values = normal_values(size, seed);
    for (float& value : values) value *= 0.5f;
    return values;
  };
  EXPECT_TRUE(all_equal_bits(got.dw, halves(none.filter_size(), 3)));
  EXPECT_TRUE(all_equal_bits(got.db, halves(none.k, 4)));
  const Results zeros = filter_gradient(none, 0);
  EXPECT_TRUE(all_near(zeros.dw, std::vector<double>(zeros.dw.size()), 0));
  EXPECT_TRUE(all_near(zeros.db, std::vector<double>(zeros.db.size()), 0));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Conv2dGradients, testing::ValuesIn(kAlgorithms),
                         [](const auto& algorithm) { return std::string(algorithm.param.name); });

// No input channels: no dw, but a gradient of the bias. No output channels: no term of dx.
TEST(Conv2dGradientsEmpty, NoChannels) {
  const Stream stream;
  for (const int64_t groups : {1, 2}) {
    const ConvCase no_input = {2, 4, 4, 0, 4, 3, 3, {.groups = groups}},
                   no_output = {2, 4, 4, 4, 0, 3, 3, {.groups = groups}};
    GuardedBuffer<float> dy(Floats(static_cast<size_t>(no_input.y_size()), 0.25f)), db(Floats(4, 3)),
        dx(Floats(static_cast<size_t>(no_output.x_size()), 3)),
        scratch(workspace_bytes(no_input).filter_gradient_bias / 4);
    ASSERT_TRUE(ok(conv2d_filter_gradient(
        filter_view<float>(no_input, nullptr), y_view(no_input, dy.data()), x_view<float>(no_input, nullptr),
        no_input.options, {.beta = 2, .bias_gradient = db.view()}, scratch.workspace(), stream)));
    EXPECT_TRUE(all_near(db.download(), std::vector<double>(4, 2 * 3 + 0.25 * 8), 0));
    ASSERT_TRUE(ok(conv2d_data_gradient(x_view(no_output, dx.data()), y_view<float>(no_output, nullptr),
                                        filter_view<float>(no_output, nullptr), no_output.options,
                                        {.beta = -2}, {}, stream)));
    EXPECT_TRUE(all_near(dx.download(), std::vector<double>(static_cast<size_t>(no_output.x_size()), -6), 0));
  }
}

// A stride above the filter: most pixels have no term.
TEST(Conv2dGradientsEmpty, PixelsThatNoFilterReaches) {
  const Stream stream;
  const ConvCase c = {1, 4, 1, 1, 1, 1, 1, {.stride_h = 3}};
  GuardedBuffer<float> dy(Floats{5, 7}), filter(Floats{2}), dx(Floats{1, 2, 3, 4});
  ASSERT_TRUE(ok(conv2d_data_gradient(x_view(c, dx.data()), y_view(c, dy.data()),
                                      filter_view(c, filter.data()), c.options, {.beta = 10}, {}, stream)));
  EXPECT_TRUE(all_near(dx.download(), {20, 20, 30, 54}, 0));
}

TEST(Conv2dGradientsArguments, AreRefused) {
  const Stream stream;
  const ConvCase c = {1, 4, 4, 5, 7, 3, 3};
  GuardedBuffer<float> dy(c.y_size()), x(c.x_size()), dw(c.filter_size()), db(c.k + 1);
  const auto run = [&](VectorView<float> bias) {
    return conv2d_filter_gradient(filter_view(c, dw.data()), y_view(c, dy.data()), x_view(c, x.data()),
                                  c.options, {.bias_gradient = bias}, {}, stream);
  };
  EXPECT_TRUE(
      refused(run({db.data(), 8}), "bias_gradient has 8 elements, must be the out_channels of dw, 7"));
  EXPECT_TRUE(refused(run({nullptr, 7}), "bias_gradient is null"));
  EXPECT_TRUE(refused(run({dw.data() + 3, 7}), "bias_gradient overlaps dw"));
  EXPECT_TRUE(refused(run({dy.data(), 7}), "bias_gradient overlaps dy"));
  EXPECT_TRUE(refused(run({x.data(), 7}), "bias_gradient overlaps x"));
  // No images, and more channels than the kernel has columns.
  constexpr int64_t kMost = kMostBiasColumns;
  const ImageView<const float> no_images = {nullptr, 0, 1, 1, 1}, no_results = {nullptr, 0, 1, 1, kMost + 1};
  EXPECT_TRUE(refused(conv2d_filter_gradient({dw.data(), kMost + 1, 1, 1, 1}, no_results, no_images, {},
                                             {.bias_gradient = {db.data(), kMost + 1}}, {}, stream),
                      "there are 2097121 out_channels, must be at most 2097120 with bias_gradient"));
}

}  // namespace
}  // namespace rondo::test
