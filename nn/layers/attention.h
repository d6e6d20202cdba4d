// Layers of a transformer. Its tokens are the positions of an image, row by row.
#pragma once

#include <rondo/nn/layers/linear.h>
#include <rondo/nn/layers/module.h>

namespace rondo::nn {

// y = x + weight: a trained value for each position and channel. Parameter: "weight" [height, width,
// channels], at first normal with a standard deviation of 0.02.
class PositionEmbedding : public Module {
 public:
  Value build(Graph& graph, Value x) const override;
};

// The Gaussian error linear unit x P(x), with the standard normal distribution P; or its approximation by
// tanh (kernels/activation/gelu.h).
class GELU : public Module {
 public:
  enum class Form { exact, tanh };
  explicit GELU(Form form = Form::exact) : form_(form) {}
  Value build(Graph& graph, Value x) const override;
  bool channelwise() const override { return true; }

 private:
  Form form_;
};

// y = x W + b for the channels of each position: a convolution of 1 x 1, with its parameters. In a state dict
// of PyTorch it is a torch.nn.Linear.
class PositionwiseLinear : public Module {
 public:
  using Options = Linear::Options;
  explicit PositionwiseLinear(int64_t outputs) : PositionwiseLinear(outputs, Options{}) {}
  PositionwiseLinear(int64_t outputs, Options options) : outputs_(outputs), options_(options) {}
  Value build(Graph& graph, Value x) const override;
  int64_t outputs() const override { return outputs_; }
  AnyModule with_outputs(int64_t outputs) const override { return PositionwiseLinear(outputs, options_); }

 private:
  int64_t outputs_;
  Options options_;
};

// Multi-head self-attention (Vaswani et al., "Attention is all you need", 2017) of the positions of x, with d
// = channels / heads channels a head. For each head, with the rows of Q, K and V of its positions:
//
//   (Q, K, V) = x W_in + b_in;   A = softmax(Q K^T / sqrt(d));   y = (A V of all heads) W_out + b_out
//
// Parameters: those of two positionwise linear layers, "in_proj" with 3 * channels outputs (those of Q, then
// K, then V, each head by head) and "out_proj". They are those of torch.nn.MultiheadAttention. Saves A for
// backward: heads * positions^2 values a sample.
class MultiHeadAttention : public Module {
 public:
  using Options = Linear::Options;  // of both projections; `math` also of the products with A
  explicit MultiHeadAttention(int64_t heads) : MultiHeadAttention(heads, Options{}) {}
  MultiHeadAttention(int64_t heads, Options options) : heads_(heads), options_(options) {}
  Value build(Graph& graph, Value x) const override;

 private:
  int64_t heads_;
  Options options_;
};

}  // namespace rondo::nn
