// Transposed convolution, as a layer.
#pragma once

#include <rondo/nn/layers/conv2d.h>

namespace rondo::nn {

//   y[n, h, w, c] = bias[c] + sum of x[n, p, q, k] * weight[k, r, s, c] over all k, r, s and p, q with
//                   h = p * stride + r * dilation - padding, w = q * stride + s * dilation - padding
//
// (kernels/conv/conv_transpose2d.h): PyTorch's ConvTranspose2d. An image of h rows becomes one of
// (h - 1) * stride + (r - 1) * dilation + 1 - 2 * padding + output_padding. With `groups` the channels of x
// and y are divided into as many groups, and k counts those of the group of c. Parameters: "weight"
// [in_channels, r, s, out_channels / groups] and, with `bias`, "bias" [out_channels]. A state dict has the
// weight as PyTorch does, [in_channels, out_channels / groups, r, s].
class ConvTranspose2d : public Module {
 public:
  struct Options {
    Size2d stride = 1;
    Size2d padding = 0;
    Size2d output_padding = 0;  // below the stride
    bool bias = true;
    WeightInit weights = {};
    std::optional<Math> math = {};  // of the products; by default that of the graph
    Size2d dilation = 1;
    int64_t groups = 1;
  };
  ConvTranspose2d(int64_t out_channels, Size2d filter) : ConvTranspose2d(out_channels, filter, Options{}) {}
  ConvTranspose2d(int64_t out_channels, Size2d filter, Options options)
      : out_channels_(out_channels), filter_(filter), options_(options) {}
  Value build(Graph& graph, Value x) const override;

 private:
  int64_t out_channels_;
  Size2d filter_;
  Options options_;
};

}  // namespace rondo::nn
