// Convolution, as a layer.
#pragma once

#include <rondo/kernels/conv/conv2d.h>
#include <rondo/nn/layers/init.h>
#include <rondo/nn/layers/module.h>

#include <optional>

namespace rondo::nn {

// Height and width of a filter, a stride or a padding. {3} is 3 x 3.
struct Size2d {
  int64_t height, width;
  Size2d(int64_t side) : height(side), width(side) {}
  Size2d(int64_t h, int64_t w) : height(h), width(w) {}
};

//   y[n, p, q, k] = bias[k] + sum over r, s, c of weight[k, r, s, c] *
//                   x[n, p * stride + r * dilation - padding, q * stride + s * dilation - padding, c]
//
// (a cross-correlation, as is usual). With `groups` the channels of x and y are divided into as many groups,
// and c counts those of the group of k; with as many groups as channels the layer is depthwise. `padding` is
// at the top and the left, and `padding_end`, by default the same, at the bottom and the right. Parameters:
// "weight" [out_channels, r, s, in_channels / groups] and, with `bias`, "bias" [out_channels].
class Conv2d : public Module {
 public:
  struct Options {
    Size2d stride = 1;
    Size2d padding = 0;
    bool bias = true;
    WeightInit weights = {};
    std::optional<Math> math = {};  // of the products; by default that of the graph
    Size2d dilation = 1;
    int64_t groups = 1;
    std::optional<Size2d> padding_end = {};  // at the bottom and the right; by default as `padding`
  };
  Conv2d(int64_t out_channels, Size2d filter) : Conv2d(out_channels, filter, Options{}) {}
  Conv2d(int64_t out_channels, Size2d filter, Options options)
      : out_channels_(out_channels), filter_(filter), options_(options) {}
  Value build(Graph& graph, Value x) const override;
  int64_t outputs() const override { return options_.groups == 1 ? out_channels_ : 0; }
  AnyModule with_outputs(int64_t outputs) const override;

 private:
  int64_t out_channels_;
  Size2d filter_;
  Options options_;
};

}  // namespace rondo::nn
