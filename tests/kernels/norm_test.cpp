// Batch normalisation against its definition in double precision.
// Over 400 lines because forward, backward and running statistics share one reference and one set of cases.
#include <gtest/gtest.h>

#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/norm/batch_norm.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <cmath>
#include <functional>

namespace rondo::test {
namespace {

constexpr float kEps = 1e-5f;

struct Shape {
  int64_t rows, channels;
  int offset = 0;  // misalignment, in elements
};

const std::vector<Shape> kShapes = {{1, 1},         {2, 3, 1},    {17, 4},    {31, 20, 2},
                                    {512, 32},      {513, 33, 1}, {600, 64},  {700, 65},
                                    {1025, 130, 3}, {5000, 6, 1}, {300, 512}, {0, 8}};

std::string describe(const Shape& s) { return concat(s.rows, " x ", s.channels, ", offset ", s.offset); }

using Doubles = std::vector<double>;

// The layer in double precision, with float inputs.
struct Reference {
  Shape shape;
  Doubles x, gamma, beta, residual;
  bool relu = false;
  Doubles mean, variance, xhat, y;

  void forward() {
    const auto n = static_cast<double>(shape.rows);
    const auto channels = static_cast<size_t>(shape.channels);
    mean.assign(channels, 0), variance.assign(channels, 0);
    for (size_t i = 0; i < x.size(); ++i) mean[i % channels] += x[i] / n;
    for (size_t i = 0; i < x.size(); ++i)
      variance[i % channels] += std::pow(x[i] - mean[i % channels], 2) / n;
    xhat = y = x;
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t c = i % channels;
      xhat[i] = (x[i] - mean[c]) / std::sqrt(variance[c] + kEps);
      y[i] = gamma[c] * xhat[i] + beta[c] + (residual.empty() ? 0 : residual[i]);
      if (relu) y[i] = std::max(y[i], 0.0);
    }
  }
};

std::vector<float> shifted(std::vector<float> values, float by) {
  for (float& value : values) value += by;
  return values;
}

// The layer on the device, forward and backward.
struct Layer {
  explicit Layer(const Shape& s, uint64_t seed = 1, float mean = 0.5f)
      : shape(s),
        x_values(shifted(normal_values(s.rows * s.channels, seed), mean)),
        gamma_values(shifted(normal_values(s.channels, seed + 1), 1)),
        beta_values(normal_values(s.channels, seed + 2)),
        x(x_values, s.offset),
        gamma(gamma_values),
        beta(beta_values, s.offset),
        y(s.rows * s.channels, s.offset),
        mean(s.channels),
        inv_std(s.channels, s.offset),
        sums(2 * s.channels),
        workspace(batch_norm_workspace_bytes(s.rows, s.channels)) {}

  MatrixView<float> as_matrix(GuardedBuffer<float>& buffer) const {
    return matrix(buffer.data(), shape.rows, shape.channels);
  }
  BatchNormSaved saved(bool relu) {
    return {as_matrix(x), mean.view(), inv_std.view(),
            relu ? MatrixView<const float>(as_matrix(y)) : MatrixView<const float>{}};
  }
  Reference reference() const {
    return {.shape = shape,
            .x = to_double(x_values),
            .gamma = to_double(gamma_values),
            .beta = to_double(beta_values),
            .residual = {},
            .mean = {},
            .variance = {},
            .xhat = {},
            .y = {}};
  }
  void forward(const BatchNormEpilogue& epilogue, const RunningStatistics& running = {}) {
    ASSERT_TRUE(ok(batch_norm_sums(sums.view(), as_matrix(x), workspace.workspace(), stream)));
    ASSERT_TRUE(ok(batch_norm_statistics(mean.view(), inv_std.view(), running, sums.view(),
                                         std::max<int64_t>(shape.rows, 1), kEps, stream)));
    ASSERT_TRUE(ok(batch_norm(as_matrix(y), as_matrix(x), mean.view(), inv_std.view(), gamma.view(),
                              beta.view(), epilogue, stream)));
  }

  Shape shape;
  std::vector<float> x_values, gamma_values, beta_values;
  GuardedBuffer<float> x, gamma, beta, y, mean, inv_std;
  GuardedBuffer<double> sums;
  GuardedBuffer<unsigned char> workspace;
  Stream stream;
};

TEST(BatchNorm, ForwardMatchesTheDefinition) {
  for (const Shape& shape : kShapes)
    for (bool relu : {false, true})
      for (bool with_residual : {false, true}) {
        SCOPED_TRACE(concat(describe(shape), relu ? ", relu" : "", with_residual ? ", residual" : ""));
        Layer layer(shape);
        const std::vector<float> residual_values = normal_values(shape.rows * shape.channels, 9);
        GuardedBuffer<float> residual(residual_values, shape.offset);
        layer.forward(
            {with_residual ? MatrixView<const float>(layer.as_matrix(residual)) : MatrixView<const float>{},
             relu});
        Reference want = layer.reference();
        want.relu = relu;
        if (with_residual) want.residual = to_double(residual_values);
        want.forward();
        ASSERT_TRUE(all_near(layer.y.download(), want.y, 2e-6, 2e-6));
        if (shape.rows > 0) {
          ASSERT_TRUE(all_near(layer.mean.download(), want.mean, 1e-7, 1e-6));
        }
      }
}

// A mean of a thousand standard deviations: a sum of squares in float would lose the variance.
TEST(BatchNorm, KeepsTheVarianceWithALargeMean) {
  Layer layer({4000, 8}, 3, 1000);
  layer.forward({});
  Reference want = layer.reference();
  want.forward();
  Doubles inv_std;
  for (double variance : want.variance) inv_std.push_back(1 / std::sqrt(variance + kEps));
  EXPECT_TRUE(all_near(layer.inv_std.download(), inv_std, 0, 1e-6));
}

// The variance of an eps of 0.1 or of 0 differs from that of the usual one, in training and in evaluation.
TEST(BatchNorm, EpsIsAddedToTheVariance) {
  constexpr int64_t kChannels = 1000;  // several blocks
  for (const float eps : {0.0f, 1e-3f, 0.1f, 0.5f}) {
    Layer layer({30, kChannels});
    GuardedBuffer<float> in_evaluation(kChannels);
    layer.forward({});
    ASSERT_TRUE(ok(batch_norm_statistics(layer.mean.view(), layer.inv_std.view(), {}, layer.sums.view(), 30,
                                         eps, layer.stream)));
    Reference want = layer.reference();
    want.forward();
    const GuardedBuffer<float> variance(std::vector<float>(want.variance.begin(), want.variance.end()));
    const VectorView<const float> variance_view = {variance.data(), kChannels};
    ASSERT_TRUE(ok(batch_norm_inv_std(in_evaluation.view(), variance_view, eps, layer.stream)));
    Doubles inv_std;
    for (const double value : want.variance) inv_std.push_back(1 / std::sqrt(value + double{eps}));
    EXPECT_TRUE(all_near(layer.inv_std.download(), inv_std, 0, 1e-6)) << eps;
    EXPECT_TRUE(all_near(in_evaluation.download(), inv_std, 0, 1e-6)) << eps;
  }
}

// The squares of values near 1.25e8 have more than the 53 bits of a double, so that the difference of the
// mean square and the square of the mean may be negative, by more than eps.
TEST(BatchNorm, LargeConstantChannelsGiveBeta) {
  for (const int64_t rows : {3, 7, 700}) {
    constexpr int64_t kChannels = 64;
    Layer layer({rows, kChannels});
    std::vector<float> x(static_cast<size_t>(rows * kChannels));
    for (size_t i = 0; i < x.size(); ++i) x[i] = 1.25e8f + 8 * static_cast<float>(i % kChannels);
    layer.x.upload(x);
    layer.forward({});
    const std::vector<float> y = layer.y.download(), inv_std = layer.inv_std.download();
    for (const float value : inv_std)
      EXPECT_TRUE(value > 0 && value <= 1 / std::sqrt(kEps) * 1.000001f) << value;
    for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], layer.beta_values[i % kChannels], 1e-4) << i;
  }
}

TEST(BatchNorm, AConstantChannelGivesBeta) {
  Layer layer({100, 3});
  layer.x.upload(std::vector<float>(300, 0.1f));
  layer.forward({});
  const std::vector<float> y = layer.y.download();
  for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], layer.beta_values[i % 3], 1e-4);
}

// The variance of `values` that follows from the sums.
double variance_of(const std::vector<float>& values) {
  const auto rows = static_cast<int64_t>(values.size());
  Layer layer({rows, 1});
  layer.x.upload(values);
  layer.forward({});
  const Doubles sums = layer.sums.download();
  const double mean = sums[0] / static_cast<double>(rows);
  return std::fma(-mean, mean, sums[1] / static_cast<double>(rows));
}

// The bits that batch_norm.h promises: also where the first value of a thread is unlike the others, and where
// the squares of the differences are no floats.
TEST(BatchNorm, TheVarianceHasTheBitsOfAFloat) {
  for (const int64_t rows : {3, 33, 512, 600, 5000, 100000}) {
    const std::vector<float> normal = normal_values(rows, 1);
    const auto check = [&](const char* name, auto value_at) {
      std::vector<float> values = normal;
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(value_at(i, values[i]));
      long double mean = 0, variance = 0;
      for (const float value : values) mean += value / static_cast<long double>(rows);
      for (const float value : values)
        variance += (value - mean) * (value - mean) / static_cast<long double>(rows);
      EXPECT_NEAR(variance_of(values) / static_cast<double>(variance), 1, 0x1p-22) << name << ", " << rows;
    };
    check("normal", [](size_t, float x) { return x; });
    check("mean of 9000 deviations", [](size_t, float x) { return x + 9000; });
    check("outlying first values", [](size_t i, float x) { return i % 512 < 16 ? x + 1000 : x; });
    check("one outlier", [](size_t i, float x) { return i == 0 ? 0 : x + 1000; });
    check("wide range", [](size_t, float x) { return std::exp(4 * x); });
    check("large", [](size_t, float x) { return x * 0x1p100f; });
    check("small", [](size_t, float x) { return x * 0x1p-70f; });
  }
}

// PyTorch's convention: new = (1 - momentum) * old + momentum * batch, with the unbiased batch variance.
TEST(BatchNorm, RunningStatisticsFollowPyTorch) {
  constexpr float kMomentum = 0.1f;
  const Shape shape = {50, 5};
  Doubles mean(5, 0), variance(5, 1);
  GuardedBuffer<float> running_mean(std::vector<float>(5, 0)), running_variance(std::vector<float>(5, 1), 1);
  for (uint64_t step = 0; step < 3; ++step) {
    Layer layer(shape, step + 1);
    layer.forward({}, {running_mean.view(), running_variance.view(), kMomentum});
    Reference want = layer.reference();
    want.forward();
    for (size_t c = 0; c < 5; ++c) {
      mean[c] = (1 - 0.1) * mean[c] + 0.1 * want.mean[c];
      variance[c] = (1 - 0.1) * variance[c] + 0.1 * want.variance[c] * 50 / 49;
    }
    EXPECT_TRUE(all_near(running_mean.download(), mean, 1e-6));
    EXPECT_TRUE(all_near(running_variance.download(), variance, 0, 1e-6));
  }
}

// With a count the statistics are the plain averages over the batches, whatever was there before the first.
// Their error grows with the logarithm of the number of batches at most.
TEST(BatchNorm, CountedStatisticsArePlainAverages) {
  const Shape shape = {50, 5};
  Doubles mean(5), variance(5);
  GuardedBuffer<float> running_mean(std::vector<float>(5, 1e6f)),
      running_variance(std::vector<float>(5, 1e6f), 1);
  GuardedBuffer<int64_t> batches(std::vector<int64_t>{0});
  for (uint64_t step = 1; step <= 40; ++step) {
    Layer layer(shape, step, 0.1f * static_cast<float>(step));
    ASSERT_TRUE(ok(advance(batches.data(), 1, layer.stream)));
    layer.forward({}, {running_mean.view(), running_variance.view(), 0.1f, batches.data()});
    Reference want = layer.reference();
    want.forward();
    const auto weight = 1.0 / static_cast<double>(step);
    for (size_t c = 0; c < 5; ++c) {
      mean[c] += weight * (want.mean[c] - mean[c]);
      variance[c] += weight * (want.variance[c] * 50 / 49 - variance[c]);
    }
    EXPECT_TRUE(all_near(running_mean.download(), mean, 1e-6, 1e-6)) << step;
    EXPECT_TRUE(all_near(running_variance.download(), variance, 0, 1e-6)) << step;
  }
  EXPECT_EQ(batches.download(), std::vector<int64_t>{40});
}

// The weight is 1 / count, rounded once; a count below 1 counts as 1.
TEST(BatchNorm, WeightsOfCountedBatches) {
  for (const auto& [count, weight] : {std::pair<int64_t, float>{-3, 1.0f},
                                      {0, 1.0f},
                                      {1, 1.0f},
                                      {2, 0.5f},
                                      {3, 1.0f / 3},
                                      {(int64_t{1} << 24) + 1, 0x1p-24f},
                                      {int64_t{1} << 40, 0x1p-40f}}) {
    Layer layer({1, 1});
    layer.x.upload({0});
    GuardedBuffer<float> running_variance(std::vector<float>{1}), running_mean(std::vector<float>{1});
    const GuardedBuffer<int64_t> batches(std::vector<int64_t>{count});
    layer.forward({}, {running_mean.view(), running_variance.view(), 0.1f, batches.data()});
    EXPECT_EQ(running_mean.download()[0], 1 - weight) << count;
    EXPECT_EQ(running_variance.download()[0], 1 - weight) << count;
  }
}

// Batch statistics that are small compared with the running ones keep all their bits.
TEST(BatchNorm, MomentumOneReplacesTheRunningStatistics) {
  Layer layer({2, 1});
  layer.x.upload({0, 2e-4f});
  GuardedBuffer<float> running_mean(std::vector<float>{1000}), running_variance(std::vector<float>{1});
  layer.forward({}, {running_mean.view(), running_variance.view(), 1});
  EXPECT_TRUE(all_near(running_mean.download(), {1e-4}, 0, 1e-6));
  EXPECT_TRUE(all_near(running_variance.download(), {2e-8}, 0, 1e-6));
}

// PyTorch refuses a batch of one value a channel. Here it gives beta, and no gradient.
TEST(BatchNorm, OneRowHasNoUnbiasedVariance) {
  GuardedBuffer<float> running_variance(std::vector<float>(4, 1));
  Layer layer({1, 4});
  layer.forward({}, {{}, running_variance.view(), 0.25f});
  EXPECT_TRUE(all_near(running_variance.download(), Doubles(4, 0.75), 1e-7));
  EXPECT_TRUE(all_near(layer.y.download(), to_double(layer.beta_values), 0));
  const GuardedBuffer<float> dy(normal_values(4, 8));
  GuardedBuffer<float> dx(4);
  ASSERT_TRUE(ok(batch_norm_backward_sums(layer.sums.view(), {}, {}, matrix<const float>(dy.data(), 1, 4),
                                          layer.saved(false), layer.workspace.workspace(), layer.stream)));
  ASSERT_TRUE(
      ok(batch_norm_backward(layer.as_matrix(dx), {}, matrix<const float>(dy.data(), 1, 4),
                             layer.saved(false), layer.gamma.view(), layer.sums.view(), 1, layer.stream)));
  EXPECT_TRUE(all_near(dx.download(), Doubles(4), 0));
}

TEST(BatchNorm, EvaluationUsesTheRunningStatistics) {
  Layer layer({30, 6});
  const std::vector<float> mean = normal_values(6, 5);
  std::vector<float> variance = normal_values(6, 6);
  for (float& value : variance) value = value * value + 0.1f;
  layer.mean.upload(mean);
  const GuardedBuffer<float> running_variance(variance);
  ASSERT_TRUE(ok(batch_norm_inv_std(layer.inv_std.view(), {running_variance.data(), 6}, kEps, layer.stream)));
  ASSERT_TRUE(ok(batch_norm(layer.as_matrix(layer.y), layer.as_matrix(layer.x), layer.mean.view(),
                            layer.inv_std.view(), layer.gamma.view(), layer.beta.view(), {}, layer.stream)));
  Doubles want;
  for (size_t i = 0; i < layer.x_values.size(); ++i)
    want.push_back(layer.gamma_values[i % 6] * (double{layer.x_values[i]} - mean[i % 6]) /
                       std::sqrt(double{variance[i % 6]} + kEps) +
                   layer.beta_values[i % 6]);
  EXPECT_TRUE(all_near(layer.y.download(), want, 2e-6, 2e-6));
}

// Omitted gamma and beta are 1 and 0.
TEST(BatchNorm, WithoutGammaAndBeta) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(describe(shape));
    Layer layer(shape);
    layer.gamma.upload(std::vector<float>(layer.gamma_values.size(), 1.0f));
    layer.beta.upload(std::vector<float>(layer.beta_values.size(), 0.0f));
    layer.forward({{}, true});
    const int64_t size = shape.rows * shape.channels, count = std::max<int64_t>(shape.rows, 1);
    GuardedBuffer<float> dy(normal_values(size, 10), shape.offset), dx(size, shape.offset),
        y(size, shape.offset), dx_without(size, shape.offset);
    ASSERT_TRUE(ok(batch_norm(layer.as_matrix(y), layer.as_matrix(layer.x), layer.mean.view(),
                              layer.inv_std.view(), {}, {}, {{}, true}, layer.stream)));
    EXPECT_TRUE(all_equal_bits(y.download(), layer.y.download()));
    ASSERT_TRUE(ok(batch_norm_backward_sums(layer.sums.view(), {}, {}, layer.as_matrix(dy), layer.saved(true),
                                            layer.workspace.workspace(), layer.stream)));
    ASSERT_TRUE(ok(batch_norm_backward(layer.as_matrix(dx), {}, layer.as_matrix(dy), layer.saved(true),
                                       layer.gamma.view(), layer.sums.view(), count, layer.stream)));
    ASSERT_TRUE(ok(batch_norm_backward(layer.as_matrix(dx_without), {}, layer.as_matrix(dy),
                                       layer.saved(true), {}, layer.sums.view(), count, layer.stream)));
    EXPECT_TRUE(all_equal_bits(dx_without.download(), dx.download()));
  }
}

TEST(BatchNorm, OutputInPlaceOfTheInputOrTheResidual) {
  const Shape shape = {40, 12};
  Layer apart(shape), in_place(shape);
  GuardedBuffer<float> residual(normal_values(480, 9)), residual_too(normal_values(480, 9));
  apart.forward({apart.as_matrix(residual), true});
  in_place.forward({});
  ASSERT_TRUE(
      ok(batch_norm(in_place.as_matrix(residual_too), in_place.as_matrix(in_place.x), in_place.mean.view(),
                    in_place.inv_std.view(), in_place.gamma.view(), in_place.beta.view(),
                    {in_place.as_matrix(residual_too), true}, in_place.stream)));
  EXPECT_TRUE(all_equal_bits(residual_too.download(), apart.y.download()));
  ASSERT_TRUE(ok(batch_norm(in_place.as_matrix(in_place.x), in_place.as_matrix(in_place.x),
                            in_place.mean.view(), in_place.inv_std.view(), in_place.gamma.view(),
                            in_place.beta.view(), {in_place.as_matrix(residual), true}, in_place.stream)));
  EXPECT_TRUE(all_equal_bits(in_place.x.download(), apart.y.download()));
}

// d (sum of dy * y) / d parameter by central differences of the definition in double precision.
struct Differences {
  Reference layer;
  Doubles dy;

  double loss() {
    layer.forward();
    double sum = 0;
    for (size_t i = 0; i < dy.size(); ++i) sum += dy[i] * layer.y[i];
    return sum;
  }
  double slope(double& parameter) {
    constexpr double kStep = 1e-5;
    const double value = parameter;
    parameter = value + kStep;
    const double above = loss();
    parameter = value - kStep;
    const double below = loss();
    parameter = value;
    return (above - below) / (2 * kStep);
  }
  Doubles slopes(Doubles& parameters) {
    Doubles all;
    for (double& parameter : parameters) all.push_back(slope(parameter));
    return all;
  }
};

TEST(BatchNormBackward, MatchesFiniteDifferences) {
  for (const Shape& shape : {Shape{2, 3}, Shape{9, 4}, Shape{23, 5, 1}, Shape{40, 2, 1}})
    for (bool relu : {false, true}) {
      SCOPED_TRACE(concat(describe(shape), relu ? ", relu" : ""));
      Layer layer(shape);
      const int64_t size = shape.rows * shape.channels;
      GuardedBuffer<float> residual(normal_values(size, 9), shape.offset);
      layer.forward({layer.as_matrix(residual), relu});
      const std::vector<float> dy_values = normal_values(size, 10);
      GuardedBuffer<float> dy(dy_values, shape.offset), dx(size, shape.offset), dr(size, shape.offset);
      GuardedBuffer<float> dgamma(shape.channels), dbeta(shape.channels);
      ASSERT_TRUE(
          ok(batch_norm_backward_sums(layer.sums.view(), dgamma.view(), dbeta.view(), layer.as_matrix(dy),
                                      layer.saved(relu), layer.workspace.workspace(), layer.stream)));
      ASSERT_TRUE(ok(batch_norm_backward(layer.as_matrix(dx), layer.as_matrix(dr), layer.as_matrix(dy),
                                         layer.saved(relu), layer.gamma.view(), layer.sums.view(), shape.rows,
                                         layer.stream)));
      Differences differences = {layer.reference(), to_double(dy_values)};
      differences.layer.relu = relu;
      differences.layer.residual = to_double(residual.download());
      EXPECT_TRUE(all_near(dx.download(), differences.slopes(differences.layer.x), 2e-4, 1e-4));
      EXPECT_TRUE(all_near(dr.download(), differences.slopes(differences.layer.residual), 1e-5, 1e-5));
      EXPECT_TRUE(all_near(dgamma.download(), differences.slopes(differences.layer.gamma), 1e-4, 1e-5));
      EXPECT_TRUE(all_near(dbeta.download(), differences.slopes(differences.layer.beta), 1e-4, 1e-5));
    }
}

// Against the formula in double precision, for every shape.
TEST(BatchNormBackward, MatchesTheFormula) {
  for (const Shape& shape : kShapes)
    for (bool relu : {false, true}) {
      SCOPED_TRACE(concat(describe(shape), relu ? ", relu" : ""));
      Layer layer(shape);
      layer.forward({{}, relu});
      const int64_t size = shape.rows * shape.channels, count = std::max<int64_t>(shape.rows, 1);
      const std::vector<float> dy_values = normal_values(size, 10);
      GuardedBuffer<float> dy(dy_values, shape.offset), dx(size, shape.offset);
      ASSERT_TRUE(ok(batch_norm_backward_sums(layer.sums.view(), {}, {}, layer.as_matrix(dy),
                                              layer.saved(relu), layer.workspace.workspace(), layer.stream)));
      ASSERT_TRUE(ok(batch_norm_backward(layer.as_matrix(dx), {}, layer.as_matrix(dy), layer.saved(relu),
                                         layer.gamma.view(), layer.sums.view(), count, layer.stream)));
      Reference reference = layer.reference();
      reference.forward();
      const std::vector<float> y = layer.y.download();
      const auto channels = static_cast<size_t>(shape.channels);
      Doubles g, sum(channels), sum_x(channels), want;
      for (size_t i = 0; i < y.size(); ++i) {
        g.push_back(!relu || y[i] > 0 ? dy_values[i] : 0);
        sum[i % channels] += g[i];
        sum_x[i % channels] += g[i] * reference.xhat[i];
      }
      for (size_t i = 0; i < y.size(); ++i) {
        const size_t c = i % channels;
        const auto n = static_cast<double>(shape.rows);
        want.push_back(reference.gamma[c] / std::sqrt(reference.variance[c] + kEps) *
                       (g[i] - sum[c] / n - reference.xhat[i] * sum_x[c] / n));
      }
      // Two nearly equal rows have a large slope: the bound is relative to the largest factor.
      double largest = 1;
      for (size_t c = 0; c < channels; ++c)
        largest = std::max(largest, std::abs(reference.gamma[c]) / std::sqrt(reference.variance[c] + kEps));
      EXPECT_TRUE(all_near(dx.download(), want, 5e-6 * largest, 5e-6));
    }
}

// Sums of g, or of g * xhat, beyond the range of floats: all is then added in double, as in the forward pass.
TEST(BatchNormBackward, SumsBeyondTheRangeOfAFloat) {
  constexpr int64_t kRows = 200;
  for (const int64_t channels : {3, 8}) {
    SCOPED_TRACE(channels);
    const auto columns = static_cast<size_t>(channels);
    std::vector<float> xhat = normal_values(kRows * channels, 1), dy = normal_values(kRows * channels, 2);
    Doubles want(2 * columns), magnitude(2 * columns);
    for (size_t i = 0; i < xhat.size(); ++i) {
      const size_t c = i % columns;
      if (c == 0) dy[i] = 2e38f, xhat[i] *= 1e-3f;   // the sum of g
      if (c == 1) dy[i] *= 1e20f, xhat[i] *= 1e20f;  // each product
      const double g = dy[i], product = g * double{xhat[i]};
      want[c] += g, magnitude[c] += std::abs(g);
      want[columns + c] += product, magnitude[columns + c] += std::abs(product);
    }
    GuardedBuffer<float> gradient(dy), x(xhat), mean(std::vector<float>(columns, 0)),
        inv_std(std::vector<float>(columns, 1));
    GuardedBuffer<double> sums(2 * channels);
    GuardedBuffer<unsigned char> workspace(batch_norm_workspace_bytes(kRows, channels));
    const auto rows_of = [&](const GuardedBuffer<float>& buffer) {
      return matrix<const float>(buffer.data(), kRows, channels);
    };
    Stream stream;
    ASSERT_TRUE(ok(batch_norm_backward_sums(sums.view(), {}, {}, rows_of(gradient),
                                            {rows_of(x), mean.view(), inv_std.view()}, workspace.workspace(),
                                            stream)));
    EXPECT_TRUE(all_within(sums.download(), want, [&](size_t i) { return 0x1p-23 * magnitude[i]; }));
  }
}

// The sums and each gradient do not depend on which gradients are requested.
TEST(BatchNormBackward, EachGradientIsOptional) {
  for (const Shape& shape : {Shape{40, 5}, Shape{600, 130, 1}}) {
    SCOPED_TRACE(describe(shape));
    Layer layer(shape);
    layer.forward({});
    GuardedBuffer<float> dy(normal_values(shape.rows * shape.channels, 10), shape.offset);
    const auto backward = [&](VectorView<float> dgamma, VectorView<float> dbeta) {
      ASSERT_TRUE(
          ok(batch_norm_backward_sums(layer.sums.view(), dgamma, dbeta, layer.as_matrix(dy),
                                      layer.saved(false), layer.workspace.workspace(), layer.stream)));
    };
    backward({}, {});
    const Doubles sums = layer.sums.download();
    const std::vector<float> dbeta_want(sums.begin(), sums.begin() + shape.channels),
        dgamma_want(sums.begin() + shape.channels, sums.end());
    GuardedBuffer<float> dgamma(shape.channels), dbeta(shape.channels);
    backward(dgamma.view(), {});
    EXPECT_TRUE(all_equal_bits(layer.sums.download(), sums));
    EXPECT_TRUE(all_equal_bits(dgamma.download(), dgamma_want));
    backward({}, dbeta.view());
    EXPECT_TRUE(all_equal_bits(layer.sums.download(), sums));
    EXPECT_TRUE(all_equal_bits(dbeta.download(), dbeta_want));
  }
}

// Synchronised batch norm: the sums of two parts add up to the sums of the whole.
TEST(BatchNorm, SumsOfPartsAddUp) {
  Layer whole({900, 10});
  whole.forward({});
  Doubles want(20);  // not only those of the whole, which may be as wrong
  for (size_t i = 0; i < whole.x_values.size(); ++i) {
    const double value = whole.x_values[i];
    want[i % 10] += value, want[10 + i % 10] += value * value;
  }
  // The sums have the bits of a double, the squares the accuracy that the variance needs.
  const auto expect_sums = [&](const Doubles& sums) {
    EXPECT_TRUE(all_within(sums, want, [&](size_t i) { return (i < 10 ? 1e-12 : 0x1p-24) * want[i]; }));
  };
  expect_sums(whole.sums.download());
  GuardedBuffer<double> first(20), second(20);
  const auto rows = [&](int64_t begin, int64_t end) {
    return matrix<const float>(whole.x.data() + begin * 10, end - begin, 10);
  };
  ASSERT_TRUE(ok(batch_norm_sums(first.view(), rows(0, 337), whole.workspace.workspace(), whole.stream)));
  ASSERT_TRUE(ok(batch_norm_sums(second.view(), rows(337, 900), whole.workspace.workspace(), whole.stream)));
  Doubles sum = first.download();
  const Doubles more = second.download();
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  expect_sums(sum);
}

TEST(BatchNorm, SameBitsAtAnyAlignment) {
  for (const int64_t channels : {36, 48}) {
    Layer aligned({1500, channels, 0});
    aligned.forward({{}, true});
    for (int offset : {1, 2, 3}) {
      Layer other({1500, channels, offset});
      other.forward({{}, true});
      EXPECT_TRUE(all_equal_bits(other.y.download(), aligned.y.download())) << channels << ", " << offset;
      EXPECT_TRUE(all_equal_bits(other.sums.download(), aligned.sums.download()))
          << channels << ", " << offset;
    }
  }
}

TEST(BatchNorm, PropagatesNan) {
  Layer layer({20, 2});
  std::vector<float> x = layer.x_values;
  x[6] = NAN;  // channel 0
  layer.x.upload(x);
  layer.forward({{}, true});
  const std::vector<float> y = layer.y.download();
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i % 2 == 0) << i;
}

TEST(BatchNorm, BadArguments) {
  Layer l({10, 4});
  const MatrixView<float> x = l.as_matrix(l.x), y = l.as_matrix(l.y);
  const auto sums_of = [&](VectorView<double> sums, MatrixView<const float> of) {
    return batch_norm_sums(sums, of, {}, l.stream);
  };
  EXPECT_TRUE(refused(sums_of({l.sums.data(), 7}, x),
                      "sums.size is 7, must be 8, 2 values for each of the 4 channels of x"));
  EXPECT_TRUE(refused(sums_of({nullptr, 8}, x), "sums is null"));
  EXPECT_TRUE(refused(sums_of(l.sums.view(), {nullptr, 10, 4, 4}), "x is null"));
  EXPECT_TRUE(refused(sums_of(l.sums.view(), {l.x.data(), 5, 4, 8}), "x.stride is 8, must be cols = 4"));
  EXPECT_TRUE(refused(sums_of(l.sums.view(), {l.x.data(), 5, 4, 3}), "x.stride is 3"));
  EXPECT_TRUE(refused(sums_of({l.sums.data(), 8}, {l.x.data(), 10'000, 4, 4}), "workspace has 0 bytes"));
  const int64_t wide = (1 << 20) + 1;
  EXPECT_TRUE(
      refused(sums_of({l.sums.data(), 2 * wide}, {l.x.data(), 0, wide, wide}), "channels, must be at most"));

  const auto statistics = [&](int64_t count, float eps, const RunningStatistics& running) {
    return batch_norm_statistics(l.mean.view(), l.inv_std.view(), running, l.sums.view(), count, eps,
                                 l.stream);
  };
  EXPECT_TRUE(refused(statistics(0, kEps, {}), "count is 0, must be at least 1"));
  EXPECT_TRUE(refused(statistics(1, -1, {}), "eps is -1"));
  EXPECT_TRUE(refused(statistics(1, NAN, {}), "eps is nan"));
  EXPECT_TRUE(refused(statistics(1, kEps, {{}, {}, 1.5f}), "running.momentum is 1.5"));
  const auto* const odd = reinterpret_cast<const int64_t*>(l.gamma.data() + 1);
  EXPECT_TRUE(refused(statistics(1, kEps, {{}, {}, 0.1f, odd}), "running.batches"));
  EXPECT_TRUE(refused(statistics(1, kEps, {{l.gamma.data(), 3}, {}}),
                      "running.mean.size is 3, must be 4, a value for each of the 4 channels of mean"));
  EXPECT_TRUE(refused(statistics(1, kEps, {{}, {l.gamma.data(), 5}}), "running.variance.size is 5"));
  EXPECT_TRUE(
      refused(batch_norm_statistics(l.mean.view(), {l.gamma.data(), 3}, {}, l.sums.view(), 1, kEps, l.stream),
              "inv_std.size is 3"));
  EXPECT_TRUE(refused(
      batch_norm_statistics(l.mean.view(), l.inv_std.view(), {}, {l.sums.data(), 4}, 1, kEps, l.stream),
      "sums.size is 4, must be 8"));
  EXPECT_TRUE(
      refused(batch_norm_inv_std(l.mean.view(), {l.gamma.data(), 3}, kEps, l.stream), "variance.size is 3"));
  EXPECT_TRUE(refused(batch_norm_inv_std(l.mean.view(), l.gamma.view(), 1, l.stream), "eps is 1"));

  const auto apply = [&](MatrixView<float> to, int64_t channels, const BatchNormEpilogue& epilogue) {
    return batch_norm(to, x, l.mean.view(), l.inv_std.view(), {l.gamma.data(), channels}, l.beta.view(),
                      epilogue, l.stream);
  };
  EXPECT_TRUE(refused(apply({l.y.data(), 9, 4, 4}, 4, {}), "y is 9 x 4, must be 10 x 4 like x"));
  EXPECT_TRUE(refused(apply(y, 3, {}), "gamma.size is 3, must be 4"));
  EXPECT_TRUE(refused(apply(y, 4, {{l.y.data(), 10, 3, 3}, false}), "residual is 10 x 3"));

  const auto backward = [&](MatrixView<float> dx, MatrixView<float> dr, const BatchNormSaved& saved,
                            int64_t count) {
    return batch_norm_backward(dx, dr, x, saved, l.gamma.view(), l.sums.view(), count, l.stream);
  };
  EXPECT_TRUE(refused(backward(y, {}, l.saved(false), 0), "count is 0"));
  EXPECT_TRUE(refused(backward(y, y, l.saved(false), 1), "residual_gradient overlaps dx"));
  EXPECT_TRUE(refused(backward({l.y.data(), 1, 4, 4}, {}, l.saved(false), 1), "dx is 1 x 4"));
  BatchNormSaved saved = l.saved(false);
  saved.mean.size = 2;
  EXPECT_TRUE(refused(backward(y, {}, saved, 1), "saved.mean.size is 2"));
  EXPECT_TRUE(refused(
      batch_norm_backward_sums(l.sums.view(), {l.gamma.data(), 3}, {}, x, l.saved(false), {}, l.stream),
      "gamma_gradient.size is 3"));
  EXPECT_TRUE(refused(
      batch_norm_backward_sums(l.sums.view(), {}, {l.gamma.data(), 3}, x, l.saved(false), {}, l.stream),
      "beta_gradient.size is 3"));
}

}  // namespace
}  // namespace rondo::test
