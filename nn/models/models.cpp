#include <rondo/nn/models/models.h>

#include <rondo/kernels/core/counted.h>
#include <rondo/nn/layers/attention.h>
#include <rondo/nn/layers/batch_norm.h>
#include <rondo/nn/layers/conv2d.h>
#include <rondo/nn/layers/linear.h>
#include <rondo/nn/layers/norm.h>
#include <rondo/nn/layers/simple.h>

#include <utility>
#include <vector>

namespace rondo::nn {

namespace {

AnyModule residual_block(int64_t channels, int64_t stride, WeightInit weights) {
  const Sequential body = {Conv2d(channels, 3, {.stride = stride, .padding = 1, .weights = weights}),
                           BatchNorm2d(), ReLU(), Conv2d(channels, 3, {.padding = 1, .weights = weights}),
                           BatchNorm2d()};
  if (stride == 1) return Residual(body);
  return Residual(body, Conv2d(channels, 1, {.stride = stride, .weights = weights}));
}

AnyModule stage(int64_t channels, int64_t stride, WeightInit weights) {
  return Sequential{residual_block(channels, stride, weights), residual_block(channels, 1, weights)};
}

// Its modules are those of the network, not of a Sequential in it: the names are those of a flat list.
void add_separable_block(std::vector<AnyModule>& to, int64_t inputs, int64_t channels, int64_t stride,
                         WeightInit weights) {
  to.push_back(Conv2d(inputs, 3,
                      {.stride = stride, .padding = 1, .bias = false, .weights = weights, .groups = inputs}));
  to.push_back(BatchNorm2d());
  to.push_back(ReLU());
  to.push_back(Conv2d(channels, 1, {.bias = false, .weights = weights}));
  to.push_back(BatchNorm2d());
  to.push_back(ReLU());
}

}  // namespace

AnyModule lenet(int64_t classes, WeightInit weights) {
  return Sequential{Conv2d(20, 3, {.weights = weights}),
                    ReLU(),
                    AvgPool2d(2),
                    Conv2d(50, 5, {.weights = weights}),
                    ReLU(),
                    AvgPool2d(2),
                    Flatten(),
                    Linear(128, {.weights = weights}),
                    ReLU(),
                    Linear(classes, {.weights = weights})};
}

AnyModule resnet18(int64_t classes, WeightInit weights) {
  return Sequential{Conv2d(64, 3, {.padding = 1, .weights = weights}),
                    BatchNorm2d(),
                    ReLU(),
                    stage(64, 1, weights),
                    stage(128, 2, weights),
                    stage(256, 2, weights),
                    stage(512, 2, weights),
                    GlobalAvgPool(),
                    Flatten(),
                    Linear(classes, {.weights = weights})};
}

AnyModule mobilenet(int64_t classes, WeightInit weights) {
  int64_t channels = 32;
  std::vector<AnyModule> modules = {Conv2d(channels, 3, {.padding = 1, .bias = false, .weights = weights}),
                                    BatchNorm2d(), ReLU()};
  for (const auto& [outputs, stride] :
       {std::pair<int64_t, int64_t>(64, 1), {128, 2}, {128, 1}, {256, 2}, {256, 1}, {512, 2}, {512, 1}}) {
    add_separable_block(modules, channels, outputs, stride, weights);
    channels = outputs;
  }
  modules.push_back(GlobalAvgPool());
  modules.push_back(Flatten());
  modules.push_back(Linear(classes, {.weights = weights}));
  return Sequential(std::move(modules));
}

AnyModule vit(int64_t classes, WeightInit weights, int64_t blocks) {
  if (blocks < 0)
    throw Error(bad_argument("vit: it has ", counted(blocks, "block"), ", must have at least 0"));
  constexpr int64_t kChannels = 64, kHeads = 4;
  const Residual::Options sum = {.relu = false};
  std::vector<AnyModule> modules = {Conv2d(kChannels, 4, {.stride = 4, .weights = weights}),
                                    PositionEmbedding()};
  for (int64_t block = 0; block < blocks; ++block) {
    modules.push_back(
        Residual(Sequential{LayerNorm(), MultiHeadAttention(kHeads, {.weights = weights})}, sum));
    modules.push_back(
        Residual(Sequential{LayerNorm(), PositionwiseLinear(2 * kChannels, {.weights = weights}), GELU(),
                            PositionwiseLinear(kChannels, {.weights = weights})},
                 sum));
  }
  modules.push_back(LayerNorm());
  modules.push_back(GlobalAvgPool());
  modules.push_back(Flatten());
  modules.push_back(Linear(classes, {.weights = weights}));
  return Sequential(std::move(modules));
}

AnyModule mlp(int64_t layers, int64_t width, int64_t outputs, WeightInit weights) {
  if (layers < 0)
    throw Error(bad_argument("mlp: it has ", counted(layers, "layer"), ", must have at least 0"));
  std::vector<AnyModule> modules;
  for (int64_t layer = 0; layer < layers; ++layer) {
    modules.push_back(Linear(width, {.weights = weights}));
    modules.push_back(ReLU());
  }
  modules.push_back(Linear(outputs, {.weights = weights}));
  return Sequential(std::move(modules));
}

std::vector<std::string> image_model_names() { return {"lenet", "resnet18", "mobilenet", "vit"}; }

std::vector<std::string> model_names() {
  std::vector<std::string> names = image_model_names();
  names.push_back("mlp");
  return names;
}

NamedModel model(const std::string& name, WeightInit weights, Shape image, int64_t classes) {
  if (name == "lenet") return {lenet(classes, weights), image};
  if (name == "resnet18") return {resnet18(classes, weights), image};
  if (name == "mobilenet") return {mobilenet(classes, weights), image};
  if (name == "vit") return {vit(classes, weights), image};
  if (name == "mlp") return {mlp(90, 2056, 10, weights), {1, 1, 1024}};
  std::string names;
  for (const std::string& known : model_names()) names += (names.empty() ? "" : ", ") + known;
  throw Error(bad_argument("the model is '", name, "', must be one of: ", names));
}

}  // namespace rondo::nn
