// ReferenceNetwork: a second implementation of the networks in nn/models/models.h, in double precision.
//
// It has the layers of the graph, one for one and in the same order. A ReLU belongs to the layer before it.
#pragma once

#include <rondo/tests/nn/reference/layers.h>

#include <vector>

namespace rondo::test {

class ReferenceNetwork {
 public:
  static ReferenceNetwork lenet(nn::Shape input, int64_t classes = 10);
  static ReferenceNetwork resnet18(nn::Shape input, int64_t classes = 10);
  static ReferenceNetwork mobilenet(nn::Shape input, int64_t classes = 10);
  static ReferenceNetwork vit(nn::Shape input, int64_t classes = 10, int64_t blocks = 4);
  static ReferenceNetwork sample_norms(nn::Shape input, int64_t classes = 10);  // small_network_of_norms()
  static ReferenceNetwork upsampling(nn::Shape input, int64_t classes = 10);    // small_upsampling_network()
  static ReferenceNetwork pools(nn::Shape input, int64_t classes = 10);         // small_network_of_pools()
  static ReferenceNetwork softmaxes(nn::Shape input, int64_t classes = 10);  // small_network_of_softmaxes()
  static ReferenceNetwork mlp(nn::Shape input, int64_t layers, int64_t width, int64_t outputs = 10);

  struct Node {
    ReferenceLayerPtr layer;
    std::vector<int> inputs;  // -1: the network's input; otherwise the output of that node
  };
  const std::vector<Node>& nodes() const { return nodes_; }
  std::vector<std::vector<Doubles>> parameters;  // per node

  // Node i's output is outputs[i].
  void forward(const Doubles& x, int64_t batch) { x_ = x, batch_ = batch, forward_from(0); }
  // Recomputes the nodes from `first` on, for example after a change of that node's parameters.
  void forward_from(size_t first);
  std::vector<Doubles> outputs;

  struct Gradients {
    std::vector<Doubles> outputs;                  // with respect to each node's output
    std::vector<std::vector<Doubles>> parameters;  // with respect to its parameters
  };
  Gradients backward(const Doubles& result_gradient) const;

  // The signs of all rectified values. The loss has a kink between two points with different signs.
  std::vector<bool> sides() const;

 private:
  explicit ReferenceNetwork(nn::Shape input) : input_(input) {}
  int add(ReferenceLayerPtr layer, std::vector<int> inputs);
  const nn::Shape& shape(int node) const {
    return node < 0 ? input_ : nodes_[static_cast<size_t>(node)].layer->output;
  }
  int conv(int x, const ReferenceConv& conv) { return add(make_conv(shape(x), conv), {x}); }
  int batch_norm(int x, bool relu) { return add(make_batch_norm(shape(x), relu), {x}); }
  // Windows that do not overlap and have no padding.
  int average_pool(int x, int64_t height, int64_t width) {
    return add(
        make_pool(shape(x), ReferencePool::average, fixed_windows(shape(x).height, height, height, 0, 1),
                  fixed_windows(shape(x).width, width, width, 0, 1)),
        {x});
  }
  int linear(int x, int64_t outputs, bool relu) {
    return add(make_linear(shape(x).size(), outputs, relu), {x});
  }
  int residual_block(int x, int64_t channels, int64_t stride);
  std::vector<const Doubles*> inputs_of(const Node& node) const;

  nn::Shape input_;
  std::vector<Node> nodes_;
  Doubles x_;
  int64_t batch_ = 0;
};

// Sum over the samples of -log softmax(logits)[label], and its gradient.
struct ReferenceLoss {
  double loss = 0;
  Doubles gradient;
};
ReferenceLoss cross_entropy(const Doubles& logits, const std::vector<int32_t>& labels);

}  // namespace rondo::test
