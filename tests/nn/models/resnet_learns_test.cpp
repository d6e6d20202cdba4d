// ResNet-18 and the vision transformer learn: minutes of training on a CPU, to an accuracy well above
// guessing (0.1) and, for ResNet-18, above a linear model on so few images.
#include <gtest/gtest.h>

#include <rondo/kernels/core/math_mode.h>
#include <rondo/nn/data/fashion_mnist.h>
#include <rondo/nn/fit/fit.h>
#include <rondo/nn/models/models.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/support/real_images.h>
#include <rondo/tests/support/status_checks.h>

namespace rondo::nn {
namespace {

struct Arithmetic {
  const char* name;
  Math math;
  DType activations;
};
// Three epochs. The loss must fall, and the replicas stay equal.
void train(DataParallel& model, Optimizer& optimizer, const FashionMnist& data, double rate,
           FitResult* result) {
  FitOptions options;
  options.epochs = 3;
  options.learning_rate = LearningRate::constant(rate);
  options.verify = true;
  *result = fit(model, optimizer, data, options);
  ASSERT_EQ(result->epochs.size(), 3u);
  EXPECT_LT(result->epochs[2].train_loss, result->epochs[0].train_loss);
  EXPECT_EQ(result->differing_values, 0);
}

class ResNet : public testing::TestWithParam<Arithmetic> {};

// rondo train resnet18 --devices 2 --limit 2000 --batch 64 --lr 0.05 --weights kaiming --epochs 3, and with
// --precision tf32 and bf16
TEST_P(ResNet, LearnsFromTwoThousandImages) {
  std::optional<FashionMnist> found = test::real_images();
  if (!found) GTEST_SKIP() << test::kNoRealImages;
  SKIP_IF_REFUSED(check_math("math", GetParam().math));
  SKIP_IF_REFUSED(check_factor_type("activations", GetParam().activations));
  FashionMnist& data = *found;
  keep_first(data, 2000);
  DataParallelOptions options;
  options.devices = test::spread(2);
  options.batch = 64;
  options.math = GetParam().math;
  options.activations = GetParam().activations;
  DataParallel model(resnet18(10, WeightInit::kaiming_normal()), {28, 28, 1}, options);
  Sgd sgd(model);
  FitResult result;
  ASSERT_NO_FATAL_FAILURE(train(model, sgd, data, 0.05, &result));
  double best = 0;
  for (const EpochReport& epoch : result.epochs) best = std::max(best, epoch.test_accuracy);
  EXPECT_GT(best, 0.60);
}

INSTANTIATE_TEST_SUITE_P(Precision, ResNet,
                         testing::Values(Arithmetic{"fp32", Math::fp32, DType::float32},
                                         Arithmetic{"tf32", Math::tf32, DType::float32},
                                         Arithmetic{"bf16", Math::fp32, DType::bfloat16}),
                         [](const auto& info) { return info.param.name; });

// rondo train vit --devices 2 --limit 2000 --batch 64 --optimizer adam --lr 0.001 --weights xavier --epochs 3
TEST(VisionTransformer, LearnsFromTwoThousandImages) {
  std::optional<FashionMnist> found = test::real_images();
  if (!found) GTEST_SKIP() << test::kNoRealImages;
  FashionMnist& data = *found;
  keep_first(data, 2000);
  DataParallelOptions options;
  options.devices = test::spread(2);
  options.batch = 64;
  DataParallel model(vit(10, WeightInit::xavier_uniform()), {28, 28, 1}, options);
  Adam adam(model);
  FitResult result;
  ASSERT_NO_FATAL_FAILURE(train(model, adam, data, 0.001, &result));
  EXPECT_GT(result.epochs[2].test_accuracy, 0.60);
}

}  // namespace
}  // namespace rondo::nn
