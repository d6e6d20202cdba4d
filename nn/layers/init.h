// WeightInit: how the weights of a convolution or of a linear layer begin.
//
//   nn::Conv2d(64, 3, {.padding = 1, .weights = nn::WeightInit::kaiming_normal()})
//   nn::lenet(10, nn::WeightInit::xavier_uniform())
#pragma once

#include <rondo/nn/graph/graph.h>

#include <cstdint>
#include <string>

namespace rondo::nn {

// How many inputs an output is summed from, and how many outputs an input goes into. Linear: its inputs and outputs. Conv2d:
// r * s * its input channels and r * s * its output channels; the stride does not count.
struct Fans {
  int64_t in, out;
};

class WeightInit {
 public:
  WeightInit() = default;  // layer_default()

  // PyTorch's for both layers: weights and biases uniform within 1 / sqrt(in). With all others the biases begin at 0.
  static WeightInit layer_default() { return {}; }
  // Deviation `deviation`, whatever the layer. Throws a bad_argument Error where it is negative or not finite.
  static WeightInit normal(float deviation);
  // Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010: activations and
  // gradients keep their variance where the network is nearly linear. Uniform within sqrt(6 / (in + out)), or of deviation
  // sqrt(2 / (in + out)).
  static WeightInit xavier_uniform() { return {Kind::xavier_uniform, 0}; }
  static WeightInit xavier_normal() { return {Kind::xavier_normal, 0}; }
  // He et al., "Delving deep into rectifiers", 2015: activations keep their mean square through layers with a ReLU. Uniform
  // within sqrt(6 / in), or of deviation sqrt(2 / in).
  static WeightInit kaiming_uniform() { return {Kind::kaiming_uniform, 0}; }
  static WeightInit kaiming_normal() { return {Kind::kaiming_normal, 0}; }

  // Of a layer with these fans, both at least 1.
  Init weights(Fans fans) const;
  Init biases(Fans fans) const;

 private:
  enum class Kind { layer_default, normal, xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal };
  WeightInit(Kind kind, float deviation) : kind_(kind), deviation_(deviation) {}

  Kind kind_ = Kind::layer_default;
  float deviation_ = 0;
};

// By name, as the papers have them: "default", "normal" (of deviation 0.01), "xavier" (uniform), "kaiming" (normal). Throws a
// bad_argument Error that lists the names.
WeightInit weight_init(const std::string& name);

}  // namespace rondo::nn
