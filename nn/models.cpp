#include <rondo/nn/models.h>

#include <rondo/nn/layers/batch_norm.h>
#include <rondo/nn/layers/conv2d.h>
#include <rondo/nn/layers/linear.h>
#include <rondo/nn/layers/simple.h>

namespace rondo::nn {

namespace {

AnyModule residual_block(int64_t channels, int64_t stride) {
  const Sequential body = {Conv2d(channels, 3, {.stride = stride, .padding = 1}), BatchNorm2d(), ReLU(),
                           Conv2d(channels, 3, {.padding = 1}), BatchNorm2d()};
  if (stride == 1) return Residual(body);
  return Residual(body, Conv2d(channels, 1, {.stride = stride}));
}

AnyModule stage(int64_t channels, int64_t stride) {
  return Sequential{residual_block(channels, stride), residual_block(channels, 1)};
}

}  // namespace

AnyModule lenet(int64_t classes) {
  return Sequential{Conv2d(20, 3), ReLU(),    AvgPool2d(2), Conv2d(50, 5), ReLU(),
                    AvgPool2d(2),  Flatten(), Linear(128),  ReLU(),        Linear(classes)};
}

AnyModule resnet18(int64_t classes) {
  return Sequential{Conv2d(64, 3, {.padding = 1}),
                    BatchNorm2d(),
                    ReLU(),
                    stage(64, 1),
                    stage(128, 2),
                    stage(256, 2),
                    stage(512, 2),
                    GlobalAvgPool(),
                    Flatten(),
                    Linear(classes)};
}

AnyModule mlp(int64_t layers, int64_t width, int64_t outputs) {
  std::vector<AnyModule> modules;
  for (int64_t layer = 0; layer < layers; ++layer) {
    modules.push_back(Linear(width));
    modules.push_back(ReLU());
  }
  modules.push_back(Linear(outputs));
  return Sequential(std::move(modules));
}

std::vector<std::string> model_names() { return {"lenet", "resnet18", "mlp"}; }

NamedModel model(const std::string& name) {
  constexpr Shape kFashionMnist = {28, 28, 1};
  if (name == "lenet") return {lenet(), kFashionMnist};
  if (name == "resnet18") return {resnet18(), kFashionMnist};
  if (name == "mlp") return {mlp(), {1, 1, 1024}};
  std::string names;
  for (const std::string& known : model_names()) names += (names.empty() ? "" : ", ") + known;
  throw Error(bad_argument("the model is '", name, "', must be one of: ", names));
}

}  // namespace rondo::nn
