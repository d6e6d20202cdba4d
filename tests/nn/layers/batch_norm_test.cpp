// Batch normalisation with other options than the default ones, in training and in evaluation.
#include <gtest/gtest.h>

#include <rondo/nn/layers/batch_norm.h>
#include <rondo/tests/nn/train/model_fixture.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/inputs.h>

#include <cmath>

namespace rondo::nn {
namespace {

using test::all_near;
using test::normal_values;

constexpr Shape kNormImage = {3, 2, 5};
constexpr int64_t kNormSamples = 4, kNormRows = kNormSamples * kNormImage.height * kNormImage.width;

// (x - mean) / sqrt(variance + eps) in double precision, per channel. The initial weight is 1 and the bias 0.
std::vector<double> batch_normalised(const std::vector<float>& x, const std::vector<double>& mean,
                                     const std::vector<double>& variance, double eps) {
  std::vector<double> y;
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = i % kNormImage.channels;
    y.push_back((static_cast<double>(x[i]) - mean[c]) / std::sqrt(variance[c] + eps));
  }
  return y;
}

TEST(BatchNorm2d, UsesItsOptionsInTrainingAndInEvaluation) {
  for (const BatchNorm2d::Options options :
       {BatchNorm2d::Options{.eps = 0.1f, .momentum = 0.3f}, BatchNorm2d::Options{.eps = 0.5f, .momentum = 1},
        BatchNorm2d::Options{.eps = 1e-5f, .momentum = 0},
        BatchNorm2d::Options{.eps = 1e-5f, .affine = false}}) {
    ModelFixture fixture(BatchNorm2d(options), kNormImage, {0}, kNormSamples, trained);
    EXPECT_EQ(fixture.graph.parameters().size(), options.affine ? 2 : 0);
    std::vector<float> x = normal_values(kNormRows * kNormImage.channels, 1);
    for (float& value : x) value = 0.3f * value + 2;  // a variance that is not large beside eps
    std::vector<double> mean(kNormImage.channels), variance(kNormImage.channels),
        running_mean(kNormImage.channels), running_variance(kNormImage.channels);
    for (size_t i = 0; i < x.size(); ++i) mean[i % kNormImage.channels] += double{x[i]} / kNormRows;
    for (size_t i = 0; i < x.size(); ++i)
      variance[i % kNormImage.channels] +=
          std::pow(double{x[i]} - mean[i % kNormImage.channels], 2) / kNormRows;
    const double momentum = double{options.momentum};
    for (size_t c = 0; c < kNormImage.channels; ++c) {
      running_mean[c] = momentum * mean[c];
      running_variance[c] = 1 - momentum + momentum * variance[c] * kNormRows / (kNormRows - 1);
    }
    fixture.upload(x);
    forward(fixture.replicas, kTraining);
    EXPECT_TRUE(all_near(fixture.outputs(), batch_normalised(x, mean, variance, options.eps), 1e-5, 1e-5));
    fixture.upload(x);
    forward(fixture.replicas, {});
    EXPECT_TRUE(all_near(fixture.outputs(), batch_normalised(x, running_mean, running_variance, options.eps),
                         1e-5, 1e-5))
        << options.eps << ", " << options.momentum;
  }
}

}  // namespace
}  // namespace rondo::nn
