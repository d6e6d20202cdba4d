// Layers without parameters.
#pragma once

#include <rondo/nn/layers/conv2d.h>
#include <rondo/nn/layers/module.h>

#include <optional>

namespace rondo::nn {

// max(x, 0). Fused into the preceding operation where that operation supports it.
class ReLU : public Module {
 public:
  Value build(Graph& graph, Value x) const override;
  bool channelwise() const override { return true; }
};

// Average or maximum of each window. Padding counts as zeros in an average and is ignored by a maximum.
struct PoolOptions {
  Size2d stride = 0;  // 0: the window's size
  Size2d padding = 0;
  std::optional<Size2d> padding_end = {};  // at the bottom and the right; by default as `padding`
  bool ceil_mode = false;                  // as in PoolWindow
  Size2d dilation = 1;                     // of a maximum; an average has none
};
enum class Pool { average, maximum };
template <Pool kKind>
class Pool2d : public Module {
 public:
  explicit Pool2d(Size2d window, PoolOptions options = {}) : window_(window), options_(options) {}
  Value build(Graph& graph, Value x) const override;
  bool channelwise() const override { return true; }

 private:
  Size2d window_;
  PoolOptions options_;
};
using AvgPool2d = Pool2d<Pool::average>;
using MaxPool2d = Pool2d<Pool::maximum>;

// Average or maximum of windows that divide the image into `output` rows and columns, which may be more than
// those of the image (kernels/pool/adaptive_pool.h).
template <Pool kKind>
class AdaptivePool2d : public Module {
 public:
  explicit AdaptivePool2d(Size2d output) : output_(output) {}
  Value build(Graph& graph, Value x) const override;
  bool channelwise() const override { return true; }

 private:
  Size2d output_;
};
using AdaptiveAvgPool2d = AdaptivePool2d<Pool::average>;
using AdaptiveMaxPool2d = AdaptivePool2d<Pool::maximum>;

// Average of each channel over all positions: 1 x 1 x channels.
class GlobalAvgPool : public Module {
 public:
  Value build(Graph& graph, Value x) const override;
  bool channelwise() const override { return true; }
};

// Reshapes to a vector, in NHWC order.
class Flatten : public Module {
 public:
  Value build(Graph& graph, Value x) const override;
};

// Training: sets each element to 0 with the given probability and scales the others up. Evaluation: identity.
class Dropout : public Module {
 public:
  explicit Dropout(float probability = 0.5f) : probability_(probability) {}
  Value build(Graph& graph, Value x) const override;

 private:
  float probability_;
};

}  // namespace rondo::nn
