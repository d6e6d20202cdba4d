#include <rondo/nn/layers/init.h>

#include <cmath>

namespace rondo::nn {

namespace {

float root_of(double quotient) { return static_cast<float>(std::sqrt(quotient)); }

}  // namespace

WeightInit WeightInit::normal(float stddev) {
  if (!(stddev >= 0) || !std::isfinite(stddev))
    throw Error(bad_argument("initial weights: the standard deviation is ", stddev,
                             ", must be finite and at least 0"));
  return {Kind::normal, stddev};
}

Init WeightInit::weights(Fans fans) const {
  const auto in = static_cast<double>(fans.in), out = static_cast<double>(fans.out);
  switch (kind_) {
    case Kind::layer_default:
      break;
    case Kind::normal:
      return Init::normal(stddev_);
    case Kind::xavier_uniform:
      return Init::uniform(root_of(6 / (in + out)));
    case Kind::xavier_normal:
      return Init::normal(root_of(2 / (in + out)));
    case Kind::kaiming_uniform:
      return Init::uniform(root_of(6 / in));
    case Kind::kaiming_normal:
      return Init::normal(root_of(2 / in));
  }
  return Init::uniform(1 / std::sqrt(static_cast<float>(fans.in)));
}

Init WeightInit::biases(Fans fans) const {
  return kind_ == Kind::layer_default ? weights(fans) : Init::zeros();
}

WeightInit weight_init(const std::string& name) {
  if (name == "default") return WeightInit::layer_default();
  if (name == "normal") return WeightInit::normal(0.01f);
  if (name == "xavier") return WeightInit::xavier_uniform();
  if (name == "kaiming") return WeightInit::kaiming_normal();
  throw Error(
      bad_argument("the initial weights are '", name, "', must be one of: default, normal, xavier, kaiming"));
}

}  // namespace rondo::nn
