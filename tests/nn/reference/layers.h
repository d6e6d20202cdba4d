// The networks' operations in double precision, forward and backward, from their definitions.
//
// Plain loops. Layouts as in Rondo: NHWC, KRSC filters, [inputs, outputs] weights.
#pragma once

#include <rondo/nn/graph/tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace rondo::test {

using Doubles = std::vector<double>;

// Results of backward, in the order of the inputs and of the parameters.
struct ReferenceGradients {
  std::vector<Doubles> inputs, parameters;
};

class ReferenceLayer {
 public:
  virtual ~ReferenceLayer() = default;
  nn::Shape output;
  std::vector<int64_t> parameter_sizes;

  using Tensors = std::span<const Doubles* const>;
  virtual Doubles forward(int64_t batch, Tensors inputs, std::span<const Doubles> parameters) const = 0;
  // `y` is the result of forward(). If a ReLU is fused, no gradient passes where y is 0.
  virtual ReferenceGradients backward(int64_t batch, Tensors inputs, const Doubles& y, const Doubles& dy,
                                      std::span<const Doubles> parameters) const = 0;
  virtual bool rectified() const { return false; }
};

using ReferenceLayerPtr = std::unique_ptr<ReferenceLayer>;

struct ReferenceConv {
  int64_t channels, filter, stride = 1, padding = 0;
  bool relu = false;
  int64_t groups = 1;
  bool bias = true;
  std::optional<int64_t> pad_bottom = {}, pad_right = {};
};
ReferenceLayerPtr make_conv(nn::Shape input, const ReferenceConv& conv);
struct ReferenceConvTranspose {
  int64_t channels, filter, stride = 1, padding = 0, output_padding = 0, dilation = 1, groups = 1;
  bool relu = false;
};
ReferenceLayerPtr make_conv_transpose(nn::Shape input, const ReferenceConvTranspose& conv);  // with bias
// With the batch's statistics. Parameters: gamma, beta.
ReferenceLayerPtr make_batch_norm(nn::Shape input, bool relu);
// Layer norm: of the channels of each position. Parameters: gamma, beta.
ReferenceLayerPtr make_layer_norm(nn::Shape input);
// RMS norm: the same without a mean and without beta.
ReferenceLayerPtr make_rms_norm(nn::Shape input);
// Group norm: of all positions of each group of neighbouring channels. Parameters: gamma, beta.
ReferenceLayerPtr make_group_norm(nn::Shape input, int64_t groups);
// The positions of each window along one side of the input.
using ReferenceWindows = std::vector<std::vector<int64_t>>;
ReferenceWindows fixed_windows(int64_t size, int64_t window, int64_t stride, int64_t padding,
                               int64_t dilation);
ReferenceWindows adaptive_windows(int64_t size, int64_t windows);
enum class ReferencePool { average, maximum };  // the first of equal maxima counts
ReferenceLayerPtr make_pool(nn::Shape input, ReferencePool kind, const ReferenceWindows& rows,
                            const ReferenceWindows& cols);
ReferenceLayerPtr make_linear(int64_t inputs, int64_t outputs, bool relu);  // with bias
ReferenceLayerPtr make_add(nn::Shape input, bool relu);
ReferenceLayerPtr make_position_embedding(nn::Shape input);
ReferenceLayerPtr make_gelu(nn::Shape input);
// Of the channels of each position.
ReferenceLayerPtr make_softmax(nn::Shape input, bool log);
// From (Q, K, V) of `heads` heads beside each other to softmax(Q K^T / sqrt(channels of a head)) V.
ReferenceLayerPtr make_attention(nn::Shape input, int64_t heads);

// Per channel, over the batch and all positions.
struct ReferenceStatistics {
  Doubles mean, variance;
};
ReferenceStatistics batch_statistics(const Doubles& x, int64_t channels);

}  // namespace rondo::test
