// The layers that have no parameters.
#pragma once

#include <rondo/nn/layers/conv2d.h>
#include <rondo/nn/layers/module.h>

namespace rondo::nn {

// max(x, 0). Where the operation before can do that in its own last pass it does, and this costs nothing.
class ReLU : public Module {
 public:
  Value build(Graph& graph, Value x) const override;
  bool channelwise() const override { return true; }
};

// The average or the maximum of each window. The windows lie side by side where no stride is given; padding counts as zeros
// in an average, and never is the maximum.
struct PoolOptions {
  Size2d stride = 0;  // 0: as large as the window
  Size2d padding = 0;
};
class AvgPool2d : public Module {
 public:
  explicit AvgPool2d(Size2d window, PoolOptions options = {}) : window_(window), options_(options) {}
  Value build(Graph& graph, Value x) const override;
  bool channelwise() const override { return true; }

 private:
  Size2d window_;
  PoolOptions options_;
};
class MaxPool2d : public Module {
 public:
  explicit MaxPool2d(Size2d window, PoolOptions options = {}) : window_(window), options_(options) {}
  Value build(Graph& graph, Value x) const override;
  bool channelwise() const override { return true; }

 private:
  Size2d window_;
  PoolOptions options_;
};

// The average of each channel over all positions: 1 x 1 x channels.
class GlobalAvgPool : public Module {
 public:
  Value build(Graph& graph, Value x) const override;
  bool channelwise() const override { return true; }
};

// The same elements as a vector, in NHWC order.
class Flatten : public Module {
 public:
  Value build(Graph& graph, Value x) const override;
};

// In training sets each element to 0 with this probability and scales the others up; in evaluation does nothing.
class Dropout : public Module {
 public:
  explicit Dropout(float probability = 0.5f) : probability_(probability) {}
  Value build(Graph& graph, Value x) const override;

 private:
  float probability_;
};

}  // namespace rondo::nn
