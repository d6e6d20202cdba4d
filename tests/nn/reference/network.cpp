#include <rondo/tests/nn/reference/network.h>

#include <algorithm>
#include <cmath>

namespace rondo::test {

int ReferenceNetwork::add(ReferenceLayerPtr layer, std::vector<int> inputs) {
  parameters.emplace_back();
  for (int64_t size : layer->parameter_sizes) parameters.back().emplace_back(static_cast<size_t>(size));
  nodes_.push_back({std::move(layer), std::move(inputs)});
  outputs.emplace_back();
  return static_cast<int>(nodes_.size()) - 1;
}

ReferenceNetwork ReferenceNetwork::lenet(nn::Shape input, int64_t classes) {
  ReferenceNetwork net(input);
  int x = net.conv(-1, {.channels = 20, .filter = 3, .relu = true});
  x = net.average_pool(x, 2, 2);
  x = net.conv(x, {.channels = 50, .filter = 5, .relu = true});
  x = net.average_pool(x, 2, 2);
  x = net.linear(x, 128, true);
  net.linear(x, classes, false);
  return net;
}

int ReferenceNetwork::residual_block(int x, int64_t channels, int64_t stride) {
  int y = conv(x, {.channels = channels, .filter = 3, .stride = stride, .padding = 1});
  y = batch_norm(y, true);
  y = conv(y, {.channels = channels, .filter = 3, .padding = 1});
  y = batch_norm(y, false);
  const int shortcut = stride == 1 ? x : conv(x, {.channels = channels, .filter = 1, .stride = stride});
  return add(make_add(shape(y), true), {y, shortcut});
}

ReferenceNetwork ReferenceNetwork::resnet18(nn::Shape input, int64_t classes) {
  ReferenceNetwork net(input);
  int x = net.conv(-1, {.channels = 64, .filter = 3, .padding = 1});
  x = net.batch_norm(x, true);
  for (int64_t channels : {64, 128, 256, 512}) {
    x = net.residual_block(x, channels, channels == 64 ? 1 : 2);
    x = net.residual_block(x, channels, 1);
  }
  x = net.average_pool(x, net.shape(x).height, net.shape(x).width);
  net.linear(x, classes, false);
  return net;
}

ReferenceNetwork ReferenceNetwork::mobilenet(nn::Shape input, int64_t classes) {
  ReferenceNetwork net(input);
  int x = net.conv(-1, {.channels = 32, .filter = 3, .padding = 1, .bias = false});
  x = net.batch_norm(x, true);
  const int64_t channels[] = {64, 128, 128, 256, 256, 512, 512};
  for (int block = 0; block < 7; ++block) {
    const int64_t inputs = net.shape(x).channels;
    x = net.conv(x, {.channels = inputs,
                     .filter = 3,
                     .stride = 1 + block % 2,
                     .padding = 1,
                     .groups = inputs,
                     .bias = false});
    x = net.batch_norm(x, true);
    x = net.conv(x, {.channels = channels[block], .filter = 1, .bias = false});
    x = net.batch_norm(x, true);
  }
  x = net.average_pool(x, net.shape(x).height, net.shape(x).width);
  net.linear(x, classes, false);
  return net;
}

ReferenceNetwork ReferenceNetwork::vit(nn::Shape input, int64_t classes, int64_t blocks) {
  ReferenceNetwork net(input);
  int x = net.conv(-1, {.channels = 64, .filter = 4, .stride = 4});
  const nn::Shape tokens = net.shape(x);
  x = net.add(make_position_embedding(tokens), {x});
  for (int64_t block = 0; block < blocks; ++block) {
    int y = net.add(make_layer_norm(tokens), {x});
    y = net.conv(y, {.channels = 3 * 64, .filter = 1});
    y = net.add(make_attention(net.shape(y), 4), {y});
    y = net.conv(y, {.channels = 64, .filter = 1});
    x = net.add(make_add(tokens, false), {y, x});
    y = net.add(make_layer_norm(tokens), {x});
    y = net.conv(y, {.channels = 2 * 64, .filter = 1});
    y = net.add(make_gelu(net.shape(y)), {y});
    y = net.conv(y, {.channels = 64, .filter = 1});
    x = net.add(make_add(tokens, false), {y, x});
  }
  x = net.add(make_layer_norm(tokens), {x});
  x = net.average_pool(x, tokens.height, tokens.width);
  net.linear(x, classes, false);
  return net;
}

ReferenceNetwork ReferenceNetwork::sample_norms(nn::Shape input, int64_t classes) {
  ReferenceNetwork net(input);
  int x = net.add(make_layer_norm(input), {-1});
  x = net.conv(x, {.channels = 12, .filter = 3, .padding = 1});
  x = net.add(make_group_norm(net.shape(x), 4), {x});
  x = net.conv(x, {.channels = 10, .filter = 3, .stride = 2});
  x = net.add(make_layer_norm(net.shape(x)), {x});
  x = net.conv(x, {.channels = 9, .filter = 1});
  x = net.add(make_rms_norm(net.shape(x)), {x});
  net.linear(x, classes, false);
  return net;
}

ReferenceNetwork ReferenceNetwork::upsampling(nn::Shape input, int64_t classes) {
  ReferenceNetwork net(input);
  int x = net.conv(-1, {.channels = 6, .filter = 3, .stride = 2, .padding = 1});
  const auto transposed = [&](const ReferenceConvTranspose& conv) {
    x = net.add(make_conv_transpose(net.shape(x), conv), {x});
  };
  transposed({.channels = 8, .filter = 3, .stride = 2, .padding = 1, .output_padding = 1, .relu = true});
  transposed({.channels = 4, .filter = 2, .dilation = 2, .groups = 4});
  transposed({.channels = 3, .filter = 2, .stride = 2, .groups = 1});
  net.linear(x, classes, false);
  return net;
}

ReferenceNetwork ReferenceNetwork::pools(nn::Shape input, int64_t classes) {
  ReferenceNetwork net(input);
  int x = net.conv(-1, {.channels = 6, .filter = 3, .padding = 1, .pad_bottom = 0, .pad_right = 2});
  const auto pool = [&](ReferencePool kind, const ReferenceWindows& rows, const ReferenceWindows& cols) {
    x = net.add(make_pool(net.shape(x), kind, rows, cols), {x});
  };
  pool(ReferencePool::maximum, fixed_windows(net.shape(x).height, 2, 1, 1, 2),
       fixed_windows(net.shape(x).width, 2, 1, 1, 2));
  x = net.conv(x, {.channels = 5, .filter = 1});
  pool(ReferencePool::maximum, adaptive_windows(net.shape(x).height, 4),
       adaptive_windows(net.shape(x).width, 10));
  x = net.conv(x, {.channels = 4, .filter = 2});
  pool(ReferencePool::average, adaptive_windows(net.shape(x).height, 2),
       adaptive_windows(net.shape(x).width, 5));
  net.linear(x, classes, false);
  return net;
}

ReferenceNetwork ReferenceNetwork::softmaxes(nn::Shape input, int64_t classes) {
  ReferenceNetwork net(input);
  int x = net.add(make_softmax(input, false), {-1});
  x = net.conv(x, {.channels = 6, .filter = 3, .padding = 1});
  x = net.add(make_softmax(net.shape(x), false), {x});
  x = net.conv(x, {.channels = 5, .filter = 2});
  x = net.add(make_softmax(net.shape(x), true), {x});
  net.linear(x, classes, false);
  return net;
}

ReferenceNetwork ReferenceNetwork::mlp(nn::Shape input, int64_t layers, int64_t width, int64_t outputs) {
  ReferenceNetwork net(input);
  int x = -1;
  for (int64_t layer = 0; layer < layers; ++layer) x = net.linear(x, width, true);
  net.linear(x, outputs, false);
  return net;
}

std::vector<const Doubles*> ReferenceNetwork::inputs_of(const Node& node) const {
  std::vector<const Doubles*> inputs;
  for (int input : node.inputs) inputs.push_back(input < 0 ? &x_ : &outputs[static_cast<size_t>(input)]);
  return inputs;
}

void ReferenceNetwork::forward_from(size_t first) {
  for (size_t i = first; i < nodes_.size(); ++i)
    outputs[i] = nodes_[i].layer->forward(batch_, inputs_of(nodes_[i]), parameters[i]);
}

ReferenceNetwork::Gradients ReferenceNetwork::backward(const Doubles& result_gradient) const {
  Gradients gradients;
  for (const Doubles& output : outputs) gradients.outputs.emplace_back(output.size());
  gradients.parameters.resize(nodes_.size());
  gradients.outputs.back() = result_gradient;
  for (size_t i = nodes_.size(); i-- > 0;) {
    const Node& node = nodes_[i];
    ReferenceGradients of_node =
        node.layer->backward(batch_, inputs_of(node), outputs[i], gradients.outputs[i], parameters[i]);
    gradients.parameters[i] = std::move(of_node.parameters);
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      if (node.inputs[k] < 0) continue;
      Doubles& sum = gradients.outputs[static_cast<size_t>(node.inputs[k])];
      for (size_t j = 0; j < sum.size(); ++j) sum[j] += of_node.inputs[k][j];
    }
  }
  return gradients;
}

std::vector<bool> ReferenceNetwork::sides() const {
  std::vector<bool> sides;
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].layer->rectified())
      for (double value : outputs[i]) sides.push_back(value > 0);
  return sides;
}

ReferenceLoss cross_entropy(const Doubles& logits, const std::vector<int32_t>& labels) {
  ReferenceLoss result = {0, logits};
  const size_t classes = logits.size() / labels.size();
  for (size_t n = 0; n < labels.size(); ++n) {
    const double* row = logits.data() + n * classes;
    double sum = 0;
    const double largest = *std::max_element(row, row + classes);
    for (size_t j = 0; j < classes; ++j) sum += std::exp(row[j] - largest);
    const auto label = static_cast<size_t>(labels[n]);
    result.loss += std::log(sum) + largest - row[label];
    for (size_t j = 0; j < classes; ++j)
      result.gradient[n * classes + j] = std::exp(row[j] - largest) / sum - (j == label ? 1 : 0);
  }
  return result;
}

}  // namespace rondo::test
