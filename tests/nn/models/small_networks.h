// Small networks that together have every kind of layer and every way of joining values.
#pragma once

#include <rondo/nn/layers/attention.h>
#include <rondo/nn/layers/batch_norm.h>
#include <rondo/nn/layers/conv2d.h>
#include <rondo/nn/layers/conv_transpose2d.h>
#include <rondo/nn/layers/linear.h>
#include <rondo/nn/layers/norm.h>
#include <rondo/nn/layers/simple.h>
#include <rondo/nn/layers/softmax.h>

#include <utility>
#include <vector>

namespace rondo::nn {

constexpr Shape kNetworkInput = {9, 9, 2};

// Two residual blocks, one with a projection shortcut; every kind of layer once, one batch normalisation with
// other options than the default ones. With 4 channels, y and dw
// are computed by the kernels of few channels.
inline AnyModule small_residual_network(int64_t channels = 4) {
  const Conv2d::Options same = {.padding = 1, .bias = false};
  return Sequential{
      Conv2d(channels, 3, {.padding = 1}),
      BatchNorm2d(),
      ReLU(),
      MaxPool2d(3, {.stride = 2, .padding = 1}),
      Residual(Sequential{Conv2d(channels, 3, same), BatchNorm2d({.eps = 0.1f, .momentum = 0.3f}), ReLU(),
                          Conv2d(channels, 3, same), BatchNorm2d()}),
      Residual(Sequential{Conv2d(2 * channels, 3, {.stride = 2, .padding = 1, .bias = false}), BatchNorm2d()},
               Sequential{Conv2d(2 * channels, 1, {.stride = 2, .bias = false})}),
      GlobalAvgPool(),
      Flatten(),
      Linear(3),
  };
}

inline AnyModule small_lenet(int64_t channels = 3) {
  return Sequential{
      Conv2d(channels, 3), ReLU(), AvgPool2d(2), Conv2d(channels + 2, 2), ReLU(), Flatten(), Dropout(0.25f),
      Linear(7),           ReLU(), Linear(3)};
}

// Convolutions that are computed by wgmma on an H100, with two images: y of the first, and dx of the second.
constexpr Shape kWideInput = {8, 8, 32};
inline AnyModule wide_convolutions() {
  return Sequential{Conv2d(4352, 1), BatchNorm2d(), ReLU(),   Conv2d(32, 1),
                    GlobalAvgPool(), Flatten(),     Linear(3)};
}

// Groups of one channel and of several, a dilation, and a batch normalisation without parameters.
inline AnyModule small_network_of_groups() {
  return Sequential{Conv2d(8, 3, {.padding = 1}),
                    BatchNorm2d(),
                    ReLU(),
                    Conv2d(8, 3, {.padding = 2, .dilation = 2, .groups = 8}),
                    BatchNorm2d({.affine = false}),
                    ReLU(),
                    Conv2d(12, 2, {.stride = 2, .groups = 4}),
                    GlobalAvgPool(),
                    Flatten(),
                    Linear(3)};
}

// Normalisations of single samples. Nothing reads the gradient that the first one writes.
inline AnyModule small_network_of_norms(int64_t classes = 3) {
  return Sequential{LayerNorm(),    Conv2d(12, 3, {.padding = 1}),
                    GroupNorm(4),   Conv2d(10, 3, {.stride = 2}),
                    LayerNorm(),    Conv2d(9, 1),
                    RMSNorm(),      Flatten(),
                    Linear(classes)};
}

// Transposed convolutions with output padding and a ReLU, with a dilation and groups, and without overlap.
inline AnyModule small_upsampling_network(int64_t classes = 3) {
  return Sequential{Conv2d(6, 3, {.stride = 2, .padding = 1}),
                    ConvTranspose2d(8, 3, {.stride = 2, .padding = 1, .output_padding = 1}),
                    ReLU(),
                    ConvTranspose2d(4, 2, {.dilation = 2, .groups = 4}),
                    ConvTranspose2d(3, 2, {.stride = 2}),
                    Flatten(),
                    Linear(classes)};
}

// Dilation and adaptive windows, whose indices are kept for the backward pass: fewer and more windows than
// rows and columns. A convolution with padding of each side.
inline AnyModule small_network_of_pools(int64_t classes = 3) {
  return Sequential{Conv2d(6, 3, {.padding = 1, .padding_end = Size2d{0, 2}}),
                    MaxPool2d(2, {.stride = 1, .padding = 1, .dilation = 2}),
                    Conv2d(5, 1),
                    AdaptiveMaxPool2d({4, 10}),
                    Conv2d(4, 2),
                    AdaptiveAvgPool2d({2, 5}),
                    Flatten(),
                    Linear(classes)};
}

// Softmax and its logarithm. Nothing reads the gradient that the first one would write.
inline AnyModule small_network_of_softmaxes(int64_t classes = 3) {
  return Sequential{
      Softmax(),      Conv2d(6, 3, {.padding = 1}), Softmax(), Conv2d(5, 2), LogSoftmax(), Flatten(),
      Linear(classes)};
}

// Attention of two heads of the 9 patches of an image, and GELU by tanh.
inline AnyModule small_transformer() {
  const Residual::Options sum = {.relu = false};
  return Sequential{
      Conv2d(8, 3, {.stride = 3}),
      PositionEmbedding(),
      Residual(Sequential{LayerNorm(), MultiHeadAttention(2)}, sum),
      Residual(Sequential{LayerNorm(), Conv2d(12, 1), GELU(GELU::Form::tanh), Conv2d(8, 1)}, sum),
      GlobalAvgPool(),
      Flatten(),
      Linear(3)};
}

// Values with two uses: the reshaped network input in the first block, and the input of the second block.
class TwiceTheInput : public Module {
 public:
  Value build(Graph& graph, Value x) const override {
    const Value y = Residual(Linear(x.shape.size())).build(graph, Flatten().build(graph, x));
    return Residual(Linear(y.shape.size()), Linear(y.shape.size())).build(graph, y);
  }
};

inline std::vector<std::pair<const char*, AnyModule>> small_networks() {
  return {{"residual", small_residual_network()},
          {"lenet", small_lenet()},
          {"twice", TwiceTheInput()},
          {"groups", small_network_of_groups()},
          {"norms", small_network_of_norms()},
          {"upsampling", small_upsampling_network()},
          {"pools", small_network_of_pools()},
          {"softmaxes", small_network_of_softmaxes()},
          {"transformer", small_transformer()}};
}

}  // namespace rondo::nn
