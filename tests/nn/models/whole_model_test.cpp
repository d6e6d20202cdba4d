// LeNet, ResNet-18, MobileNet, the transformer and the deep MLP against a second implementation in double
// precision.
//
// Layer by layer: each operation of the reference gets the float inputs and gradients of the graph's
// operation, and the results are compared. Whole models: the reference computes from the images to the
// gradients. The reference's gradients are compared with finite differences of its loss. The file exceeds 400
// lines because each network has a pair with its reference, which all three comparisons use.
#include <gtest/gtest.h>

#include <rondo/kernels/core/math_mode.h>
#include <rondo/nn/models/models.h>
#include <rondo/tests/nn/models/small_networks.h>
#include <rondo/tests/nn/reference/float_step.h>
#include <rondo/tests/nn/reference/network.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace rondo::test {
namespace {

using Floats = std::vector<float>;

struct Precision {
  Precision(Math m) : math(m) {}
  Precision(DType type) : activations(type) {}
  Math math = Math::fp32;
  DType activations = DType::float32;
};

// A model and its reference in double with the same parameters.
struct Pair {
  Pair(const nn::AnyModule& network, nn::Shape in, ReferenceNetwork twin, int64_t samples,
       Precision precision, bool mobilenet = false)
      : is_mobilenet(mobilenet),
        input(in),
        batch(samples),
        fixture(network, in, {0}, samples, nn::trained, precision.math, precision.activations),
        reference(std::move(twin)) {
    Floats all = nn::ModelFixture::get(fixture.replicas[0], fixture.replicas[0].parameters());
    const auto& nodes = fixture.graph.nodes();
    EXPECT_EQ(nodes.size(), reference.nodes().size() + 2 * conversions());
    for (size_t i = 0; i < reference.nodes().size(); ++i)
      for (size_t p = 0; p < reference.parameters[i].size(); ++p) {
        const nn::Parameter& parameter = this->parameter(i, p);
        EXPECT_EQ(static_cast<size_t>(parameter.size), reference.parameters[i][p].size()) << parameter.name;
        const auto begin = all.begin() + parameter.offset, end = begin + parameter.size;
        // Weights are rounded for the products; biases, gamma and beta are not.
        if (conversions() > 0 && parameter.shape.size() > 1) std::transform(begin, end, begin, rounded);
        reference.parameters[i][p].assign(begin, end);
      }
    Random random(5);
    for (int64_t n = 0; n < samples; ++n) labels.push_back(static_cast<int32_t>(random.below(10)));
    x = normal_values(samples * in.size(), 6);
    if (conversions() > 0) std::transform(x.begin(), x.end(), x.begin(), rounded);
  }

  static float rounded(float value) { return static_cast<float>(static_cast<__nv_bfloat16>(value)); }
  // The conversions before the reference's first node, and after its last one.
  size_t conversions() const { return fixture.graph.activations() == DType::float32 ? 0 : 1; }
  const nn::Graph::Node& node(size_t i) const { return fixture.graph.nodes()[i + conversions()]; }
  const nn::Parameter& parameter(size_t i, size_t p) const {
    return fixture.graph.parameters()[static_cast<size_t>(node(i).parameters[p])];
  }
  std::string name_of(size_t i) const { return concat(node(i).name, " (", node(i).op->description(), ")"); }
  std::string name_of(size_t i, size_t p) const { return parameter(i, p).name; }

  bool is_mobilenet;
  nn::Shape input;
  int64_t batch;
  nn::ModelFixture fixture;
  ReferenceNetwork reference;
  Floats x;
  std::vector<int32_t> labels;
};

double length(const Doubles& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

// Length of the difference, divided by the length of `want` or by `least`, whichever is larger.
double relative_error(const Floats& got, const Doubles& want, double least) {
  if (got.size() != want.size()) return NAN;
  Doubles difference = want;
  for (size_t i = 0; i < got.size(); ++i) difference[i] -= static_cast<double>(got[i]);
  const double error = length(difference);
  return error == 0 ? 0 : error / std::max(length(want), least);
}

// A NaN counts as a large error.
testing::AssertionResult is_near(const Floats& got, const Doubles& want, double bound, double& largest,
                                 double least = 0) {
  const double error = relative_error(got, want, least);
  largest = std::max(largest, error);
  if (error <= bound) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "a relative error of " << error << ", allowed is " << bound;
}

// Bound for sums of up to 4608 products in float, added in blocks. Measured errors are below half of it.
constexpr double kOneLayer = 2e-6;
// A tf32 factor has a relative error of up to 2^-11, which is 5e-4.
constexpr double kOneLayerTf32 = 6e-4;
// The gradient of a bias before a batch normalisation is 0 up to rounding: the terms of the sum cancel. So do
// those of gamma before a depthwise convolution and another normalisation, which undoes the scale of each
// channel. Their errors are therefore measured relative to the summed terms.
double least_length(const Pair& pair, size_t node, size_t parameter, const Doubles& output_gradient) {
  const auto& parameters = pair.reference.parameters[node];
  const bool normalises = parameters.size() == 2 && parameters[0].size() == parameters[1].size();
  const bool cancels = parameter == 1 || (pair.is_mobilenet && normalises);
  return cancels ? length(output_gradient) : 0;
}

struct LayerBounds {
  LayerBounds(double of_all) : tensors(of_all), small_tensors(of_all), parameters(of_all) {}
  LayerBounds(double of_tensors, double of_small_tensors, double of_parameters)
      : tensors(of_tensors), small_tensors(of_small_tensors), parameters(of_parameters) {}
  // Of outputs, and of gradients of inputs.
  double of(const Doubles& want) const { return want.size() < 100 ? small_tensors : tensors; }

  double tensors, small_tensors;
  double parameters;  // gradients of parameters
};

// Relative to the length of a tensor. A single bfloat16 is off by up to 2^-8, and by how much the 30 outputs
// are depends on how the tensor cores round. The gradients of parameters are float sums of exact products.
const LayerBounds kOneLayerBf16 = {0x1p-9, 0x1p-8, 2e-6};

void expect_layers_agree(Pair pair, LayerBounds bounds = kOneLayer) {
  const FloatStep step(pair.fixture, pair.x, pair.labels);
  double forward_error = 0, input_error = 0, parameter_error = 0;
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    SCOPED_TRACE(pair.name_of(i));
    const ReferenceNetwork::Node& node = pair.reference.nodes()[i];
    std::vector<Doubles> floats;
    for (int input : node.inputs)
      floats.push_back(to_double(input < 0 ? pair.x : step.outputs[static_cast<size_t>(input)]));
    std::vector<const Doubles*> inputs;
    for (const Doubles& input : floats) inputs.push_back(&input);
    const std::vector<Doubles>& parameters = pair.reference.parameters[i];
    const Doubles outputs = node.layer->forward(pair.batch, inputs, parameters);
    EXPECT_TRUE(is_near(step.outputs[i], outputs, bounds.of(outputs), forward_error));
    const ReferenceGradients want = node.layer->backward(pair.batch, inputs, to_double(step.outputs[i]),
                                                         to_double(step.output_gradients[i]), parameters);
    for (size_t k = 0; k < want.inputs.size(); ++k) {
      if (node.inputs[k] < 0) continue;
      EXPECT_TRUE(is_near(step.input_gradients[i][k], want.inputs[k], bounds.of(want.inputs[k]), input_error))
          << "input " << k;
    }
    for (size_t p = 0; p < want.parameters.size(); ++p)
      EXPECT_TRUE(is_near(step.parameter_gradients[i][p], want.parameters[p], bounds.parameters,
                          parameter_error, least_length(pair, i, p, to_double(step.output_gradients[i]))))
          << pair.name_of(i, p);
  }
  std::printf("largest relative errors of a layer: %.1e forward, %.1e to inputs, %.1e to parameters\n",
              forward_error, input_error, parameter_error);
}

void expect_models_agree(Pair pair, double bound, double gradient_bound) {
  const FloatStep step(pair.fixture, pair.x, pair.labels);
  ReferenceNetwork& reference = pair.reference;
  reference.forward(to_double(pair.x), pair.batch);
  double output_error = 0, gradient_error = 0, parameter_error = 0;
  for (size_t i = 0; i < step.outputs.size(); ++i)
    EXPECT_TRUE(is_near(step.outputs[i], reference.outputs[i], bound, output_error)) << pair.name_of(i);
  const ReferenceLoss loss = cross_entropy(reference.outputs.back(), pair.labels);
  EXPECT_NEAR(step.loss, loss.loss, bound * loss.loss);
  const ReferenceNetwork::Gradients gradients = reference.backward(loss.gradient);
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    EXPECT_TRUE(is_near(step.output_gradients[i], gradients.outputs[i], gradient_bound, gradient_error))
        << pair.name_of(i);
    for (size_t p = 0; p < step.parameter_gradients[i].size(); ++p)
      EXPECT_TRUE(is_near(step.parameter_gradients[i][p], gradients.parameters[i][p], gradient_bound,
                          parameter_error, least_length(pair, i, p, gradients.outputs[i])))
          << pair.name_of(i, p);
  }
  std::printf(
      "largest relative errors of the model: %.1e outputs, %.1e their gradients, %.1e parameters' "
      "gradients\n",
      output_error, gradient_error, parameter_error);
}

// Compares with central differences of the loss in double, for some elements of each parameter tensor. If a
// ReLU changes sign between the two points, the loss has a kink there and another element is drawn.
void expect_gradients_are_slopes(Pair pair, int samples) {
  ReferenceNetwork& reference = pair.reference;
  reference.forward(to_double(pair.x), pair.batch);
  const ReferenceNetwork::Gradients gradients =
      reference.backward(cross_entropy(reference.outputs.back(), pair.labels).gradient);
  const std::vector<bool> sides = reference.sides();
  const std::vector<Doubles> outputs = reference.outputs;
  Random random(8);
  int kinks = 0;
  for (size_t i = 0; i < reference.nodes().size(); ++i)
    for (size_t p = 0; p < reference.parameters[i].size(); ++p) {
      const Doubles& gradient = gradients.parameters[i][p];
      const double scale = length(gradient) / std::sqrt(static_cast<double>(gradient.size()));
      int compared = 0;
      for (int attempt = 0; attempt < 10 * samples && compared < samples; ++attempt) {
        const auto at = static_cast<size_t>(random.below(static_cast<int64_t>(gradient.size())));
        double& parameter = reference.parameters[i][p][at];
        const double value = parameter, step = 1e-6;
        bool kink = false;
        const auto loss_at = [&](double moved) {
          parameter = moved;
          reference.forward_from(i);
          kink = kink || reference.sides() != sides;
          return cross_entropy(reference.outputs.back(), pair.labels).loss;
        };
        const double slope = (loss_at(value + step) - loss_at(value - step)) / (2 * step);
        parameter = value;
        reference.outputs = outputs;
        if (kink) {
          ++kinks;
          continue;
        }
        ++compared;
        // Rounding contributes 1e-14 to the difference of the losses, and the step size changes the slope.
        EXPECT_NEAR(slope, gradient[at], 1e-14 / step + 1e-5 * (std::abs(gradient[at]) + scale))
            << pair.name_of(i, p) << " [" << at << "]";
      }
      EXPECT_EQ(compared, samples) << pair.name_of(i, p) << ": there are kinks everywhere";
    }
  std::printf("%d kinks avoided\n", kinks);
}

Pair lenet_pair(int64_t batch, Precision precision = Math::fp32) {
  constexpr nn::Shape kInput = {28, 28, 1};
  return {nn::lenet(), kInput, ReferenceNetwork::lenet(kInput), batch, precision};
}
Pair resnet_pair(int64_t side, int64_t batch, Precision precision = Math::fp32) {
  const nn::Shape input = {side, side, 1};
  return {nn::resnet18(), input, ReferenceNetwork::resnet18(input), batch, precision};
}
Pair mobilenet_pair(int64_t side, int64_t batch, Precision precision = Math::fp32) {
  const nn::Shape input = {side, side, 1};
  return {nn::mobilenet(), input, ReferenceNetwork::mobilenet(input), batch, precision, true};
}
Pair vit_pair(int64_t side, int64_t batch, int64_t blocks, Precision precision = Math::fp32) {
  const nn::Shape input = {side, side, 1};
  return {nn::vit(10, {}, blocks), input, ReferenceNetwork::vit(input, 10, blocks), batch, precision};
}
Pair norms_pair(int64_t batch, Precision precision = Math::fp32) {
  constexpr nn::Shape kInput = {9, 7, 3};
  return {nn::small_network_of_norms(10), kInput, ReferenceNetwork::sample_norms(kInput), batch, precision};
}
Pair upsampling_pair(int64_t batch, Precision precision = Math::fp32) {
  constexpr nn::Shape kInput = {7, 5, 3};
  return {nn::small_upsampling_network(10), kInput, ReferenceNetwork::upsampling(kInput), batch, precision};
}
Pair pools_pair(int64_t batch, Precision precision = Math::fp32) {
  constexpr nn::Shape kInput = {9, 7, 3};
  return {nn::small_network_of_pools(10), kInput, ReferenceNetwork::pools(kInput), batch, precision};
}
Pair softmaxes_pair(int64_t batch, Precision precision = Math::fp32) {
  constexpr nn::Shape kInput = {9, 7, 3};
  return {nn::small_network_of_softmaxes(10), kInput, ReferenceNetwork::softmaxes(kInput), batch, precision};
}
Pair mlp_pair(int64_t layers, int64_t width, int64_t batch, Precision precision = Math::fp32) {
  constexpr nn::Shape kInput = {1, 1, 40};
  return {nn::mlp(layers, width), kInput, ReferenceNetwork::mlp(kInput, layers, width), batch, precision};
}

TEST(LayerByLayer, LeNet) { expect_layers_agree(lenet_pair(4)); }
TEST(LayerByLayer, ResNet18) { expect_layers_agree(resnet_pair(12, 3)); }
TEST(LayerByLayer, MobileNet) { expect_layers_agree(mobilenet_pair(12, 3)); }
TEST(LayerByLayer, VisionTransformer) { expect_layers_agree(vit_pair(12, 3, 4)); }
TEST(LayerByLayer, TransposedConvolutions) { expect_layers_agree(upsampling_pair(4)); }
TEST(LayerByLayer, NormsOfSamples) { expect_layers_agree(norms_pair(5)); }
TEST(LayerByLayer, Pools) { expect_layers_agree(pools_pair(5)); }
TEST(LayerByLayer, Softmaxes) { expect_layers_agree(softmaxes_pair(5)); }
TEST(LayerByLayer, DeepMlp) { expect_layers_agree(mlp_pair(90, 24, 5)); }
TEST(LayerByLayer, WideMlp) { expect_layers_agree(mlp_pair(3, 515, 9)); }

// GPUs older than compute capability 8.0 do not have these.
class InTf32 : public testing::Test {
  void SetUp() override { SKIP_IF_REFUSED(check_math("tf32", Math::tf32)); }
};
class InBf16 : public testing::Test {
  void SetUp() override { SKIP_IF_REFUSED(check_factor_type("bf16", DType::bfloat16)); }
};
class LayerByLayerInTf32 : public InTf32 {};
class LayerByLayerInTf32x3 : public InTf32 {};
class LayerByLayerInBf16 : public InBf16 {};
class WholeModelInTf32 : public InTf32 {};
class WholeModelInTf32x3 : public InTf32 {};
class WholeModelInBf16 : public InBf16 {};

TEST_F(LayerByLayerInTf32, LeNet) { expect_layers_agree(lenet_pair(4, Math::tf32), kOneLayerTf32); }
TEST_F(LayerByLayerInTf32, ResNet18) { expect_layers_agree(resnet_pair(12, 3, Math::tf32), kOneLayerTf32); }
TEST_F(LayerByLayerInTf32, VisionTransformer) {
  expect_layers_agree(vit_pair(12, 3, 2, Math::tf32), kOneLayerTf32);
}
TEST_F(LayerByLayerInTf32, WideMlp) { expect_layers_agree(mlp_pair(3, 515, 9, Math::tf32), kOneLayerTf32); }
TEST_F(LayerByLayerInTf32, TransposedConvolutions) {
  expect_layers_agree(upsampling_pair(4, Math::tf32), kOneLayerTf32);
}
TEST_F(LayerByLayerInTf32x3, LeNet) { expect_layers_agree(lenet_pair(4, Math::tf32x3)); }
TEST_F(LayerByLayerInTf32x3, ResNet18) { expect_layers_agree(resnet_pair(12, 3, Math::tf32x3)); }
TEST_F(LayerByLayerInTf32x3, WideMlp) { expect_layers_agree(mlp_pair(3, 515, 9, Math::tf32x3)); }

TEST_F(LayerByLayerInBf16, LeNet) { expect_layers_agree(lenet_pair(4, DType::bfloat16), kOneLayerBf16); }
TEST_F(LayerByLayerInBf16, ResNet18) {
  expect_layers_agree(resnet_pair(12, 3, DType::bfloat16), kOneLayerBf16);
}
TEST_F(LayerByLayerInBf16, MobileNet) {
  // Batch normalisation makes the terms of the gradients of weights cancel in part: 2.01e-6 was measured.
  expect_layers_agree(mobilenet_pair(12, 3, DType::bfloat16), {0x1p-9, 0x1p-8, 4e-6});
}
TEST_F(LayerByLayerInBf16, VisionTransformer) {
  // The attention rounds three times: its scores, their softmax and the result.
  expect_layers_agree(vit_pair(12, 3, 2, DType::bfloat16), {0x1p-8, 0x1p-8, 2e-6});
}
TEST_F(LayerByLayerInBf16, TransposedConvolutions) {
  expect_layers_agree(upsampling_pair(4, DType::bfloat16), kOneLayerBf16);
}
TEST_F(LayerByLayerInBf16, NormsOfSamples) {
  expect_layers_agree(norms_pair(5, DType::bfloat16), kOneLayerBf16);
}
TEST_F(LayerByLayerInBf16, Pools) { expect_layers_agree(pools_pair(5, DType::bfloat16), kOneLayerBf16); }
TEST_F(LayerByLayerInBf16, Softmaxes) {
  // The gradients of softmax and of its logarithm are computed from the rounded results.
  expect_layers_agree(softmaxes_pair(5, DType::bfloat16), {0x1p-8, 0x1p-8, 2e-6});
}
TEST_F(LayerByLayerInBf16, WideMlp) {
  expect_layers_agree(mlp_pair(3, 515, 9, DType::bfloat16), kOneLayerBf16);
}

TEST(WholeModel, LeNet) { expect_models_agree(lenet_pair(4), 1e-5, 1e-4); }
TEST(WholeModel, ResNet18) { expect_models_agree(resnet_pair(12, 3), 1e-5, 1e-4); }
TEST(WholeModel, MobileNet) { expect_models_agree(mobilenet_pair(12, 3), 1e-5, 1e-4); }
TEST(WholeModel, VisionTransformer) { expect_models_agree(vit_pair(28, 2, 4), 1e-5, 1e-4); }
TEST(WholeModel, TransposedConvolutions) { expect_models_agree(upsampling_pair(4), 1e-5, 1e-4); }
TEST(WholeModel, NormsOfSamples) { expect_models_agree(norms_pair(5), 1e-5, 1e-4); }
TEST(WholeModel, Pools) { expect_models_agree(pools_pair(5), 1e-5, 1e-4); }
TEST(WholeModel, Softmaxes) { expect_models_agree(softmaxes_pair(5), 1e-5, 1e-4); }
TEST(WholeModel, DeepMlp) { expect_models_agree(mlp_pair(90, 24, 5), 1e-5, 1e-4); }
TEST(WholeModel, WideMlp) { expect_models_agree(mlp_pair(3, 515, 9), 1e-5, 1e-4); }

TEST_F(WholeModelInTf32, LeNet) { expect_models_agree(lenet_pair(4, Math::tf32), 2e-3, 2e-3); }
// Some values change their sign before a ReLU, as in bf16 below.
TEST_F(WholeModelInTf32, ResNet18) { expect_models_agree(resnet_pair(12, 3, Math::tf32), 1e-2, 2.5e-1); }
TEST_F(WholeModelInTf32, WideMlp) { expect_models_agree(mlp_pair(3, 515, 9, Math::tf32), 2e-3, 2e-3); }
TEST_F(WholeModelInTf32x3, LeNet) { expect_models_agree(lenet_pair(4, Math::tf32x3), 1e-5, 1e-4); }
TEST_F(WholeModelInTf32x3, WideMlp) { expect_models_agree(mlp_pair(3, 515, 9, Math::tf32x3), 1e-5, 1e-4); }

TEST_F(WholeModelInBf16, LeNet) { expect_models_agree(lenet_pair(4, DType::bfloat16), 1e-2, 1e-1); }
// The last stage normalises over 12 values a channel, and a rounding that changes the sign of a value before
// a ReLU changes whole gradients.
TEST_F(WholeModelInBf16, ResNet18) { expect_models_agree(resnet_pair(12, 3, DType::bfloat16), 6e-2, 6e-1); }
TEST_F(WholeModelInBf16, WideMlp) { expect_models_agree(mlp_pair(3, 515, 9, DType::bfloat16), 1e-2, 1e-1); }

TEST(DoublePrecision, GradientsOfLeNetAreSlopes) { expect_gradients_are_slopes(lenet_pair(2), 4); }
TEST(DoublePrecision, GradientsOfResNet18AreSlopes) { expect_gradients_are_slopes(resnet_pair(9, 2), 1); }
TEST(DoublePrecision, GradientsOfMobileNetAreSlopes) { expect_gradients_are_slopes(mobilenet_pair(9, 2), 1); }
TEST(DoublePrecision, GradientsOfTransposedConvolutionsAreSlopes) {
  expect_gradients_are_slopes(upsampling_pair(3), 6);
}
TEST(DoublePrecision, GradientsOfTheTransformerAreSlopes) {
  expect_gradients_are_slopes(vit_pair(12, 2, 2), 2);
}
TEST(DoublePrecision, GradientsOfNormsAreSlopes) { expect_gradients_are_slopes(norms_pair(3), 4); }
TEST(DoublePrecision, GradientsOfPoolsAreSlopes) { expect_gradients_are_slopes(pools_pair(3), 4); }
TEST(DoublePrecision, GradientsOfSoftmaxesAreSlopes) { expect_gradients_are_slopes(softmaxes_pair(3), 4); }
TEST(DoublePrecision, GradientsOfTheMlpAreSlopes) { expect_gradients_are_slopes(mlp_pair(90, 24, 4), 3); }

// PyTorch's convention over three steps: new = 0.9 old + 0.1 batch, from 0 and 1, with the unbiased variance.
TEST(RunningStatistics, OfResNet18FollowPyTorch) {
  Pair pair = resnet_pair(8, 3);
  const auto& nodes = pair.fixture.graph.nodes();
  std::vector<ReferenceStatistics> want(nodes.size());
  for (uint64_t pass = 0; pass < 3; ++pass) {
    const FloatStep step(pair.fixture, normal_values(3 * pair.input.size(), 20 + pass), pair.labels);
    const Floats states = nn::ModelFixture::get(pair.fixture.replicas[0], pair.fixture.replicas[0].states());
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].states.empty()) continue;
      SCOPED_TRACE(pair.name_of(i));
      const Doubles x = to_double(step.outputs[static_cast<size_t>(pair.reference.nodes()[i].inputs[0])]);
      const int64_t channels = pair.reference.nodes()[i].layer->output.channels;
      const ReferenceStatistics batch = batch_statistics(x, channels);
      const double rows = static_cast<double>(x.size()) / static_cast<double>(channels);
      want[i].mean.resize(batch.mean.size(), 0);
      want[i].variance.resize(batch.mean.size(), 1);
      for (size_t c = 0; c < batch.mean.size(); ++c) {
        want[i].mean[c] = 0.9 * want[i].mean[c] + 0.1 * batch.mean[c];
        want[i].variance[c] = 0.9 * want[i].variance[c] + 0.1 * batch.variance[c] * rows / (rows - 1);
      }
      const auto state = [&](int which) {
        const nn::Parameter& s =
            pair.fixture.graph.states()[static_cast<size_t>(nodes[i].states[static_cast<size_t>(which)])];
        return Floats(states.begin() + s.offset, states.begin() + s.offset + s.size);
      };
      EXPECT_TRUE(all_near(state(0), want[i].mean, 1e-6, 1e-6));
      EXPECT_TRUE(all_near(state(1), want[i].variance, 0, 1e-6));
    }
  }
}

}  // namespace
}  // namespace rondo::test
