// WeightInit: initial weights of a convolution or a linear layer.
//
//   nn::Conv2d(64, 3, {.padding = 1, .weights = nn::WeightInit::kaiming_normal()})
//   nn::lenet(10, nn::WeightInit::xavier_uniform())
#pragma once

#include <rondo/nn/graph/graph.h>

#include <cstdint>
#include <string>

namespace rondo::nn {

// in: number of inputs in an output's sum. out: number of outputs that an input contributes to. Linear:
// inputs and outputs. Conv2d: r * s * input channels and r * s * output channels, whatever the stride.
// ConvTranspose2d: the two exchanged, as in PyTorch.
struct Fans {
  int64_t in, out;
};

class WeightInit {
 public:
  WeightInit() = default;  // layer_default()

  // PyTorch's default for both layers: weights and biases uniform in +-1 / sqrt(in). Other kinds set biases
  // to 0.
  static WeightInit layer_default() { return {}; }
  // Standard deviation `stddev` for every layer. Throws a bad_argument Error unless finite and >= 0.
  static WeightInit normal(float stddev);
  // Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010:
  // keeps the variance of activations and gradients in nearly linear networks. Uniform in +-sqrt(6 / s) or
  // normal with standard deviation sqrt(2 / s), where s = in + out.
  static WeightInit xavier_uniform() { return {Kind::xavier_uniform, 0}; }
  static WeightInit xavier_normal() { return {Kind::xavier_normal, 0}; }
  // He et al., "Delving deep into rectifiers", 2015: keeps the mean square of activations through layers with
  // a ReLU. Uniform in +-sqrt(6 / in), or normal with standard deviation sqrt(2 / in).
  static WeightInit kaiming_uniform() { return {Kind::kaiming_uniform, 0}; }
  static WeightInit kaiming_normal() { return {Kind::kaiming_normal, 0}; }

  // Initial values for a layer with these fans, both at least 1.
  Init weights(Fans fans) const;
  Init biases(Fans fans) const;

 private:
  enum class Kind { layer_default, normal, xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal };
  WeightInit(Kind kind, float stddev) : kind_(kind), stddev_(stddev) {}

  Kind kind_ = Kind::layer_default;
  float stddev_ = 0;
};

// From a name: "default", "normal" (standard deviation 0.01), "xavier" (uniform), "kaiming" (normal). Throws
// a bad_argument Error that lists the names.
WeightInit weight_init(const std::string& name);

}  // namespace rondo::nn
