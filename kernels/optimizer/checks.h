// Argument checks of the optimizers.
#pragma once

#include <rondo/kernels/core/check.h>

#include <cmath>

namespace rondo::optimizer {

// ArgumentCheck for arrays of the parameters' size, and for hyperparameters.
class OptimizerCheck : public ArgumentCheck {
 public:
  using ArgumentCheck::ArgumentCheck;
  OptimizerCheck(const char* operation, const VectorView<float>& parameters)
      : ArgumentCheck(operation), parameters_(parameters) {
    output("parameters", parameters);
  }

  void state(const char* name, const VectorView<float>& view) {
    output(name, view);
    same_size(name, view, "parameters", parameters_);
  }
  template <class T>
  void gradient(const VectorView<const T>& view) {
    input("gradient", view);
    same_size("gradient", view, "parameters", parameters_);
  }

  template <class T>
  void rounded(const VectorView<T>& view) {
    optional_output("rounded", view);
    if (view.data) same_size("rounded", view, "parameters", parameters_);
  }

  // All three reject NaN.
  void decay_rate(const char* name, float value) {
    require(value >= 0 && value < 1, name, " is ", value, ", must be at least 0 and below 1");
  }
  void not_negative(const char* name, float value) {
    require(value >= 0 && std::isfinite(value), name, " is ", value, ", must be finite and not negative");
  }
  void finite(const char* name, float value) {
    require(std::isfinite(value), name, " is ", value, ", must be finite");
  }

 private:
  VectorView<float> parameters_;
};

}  // namespace rondo::optimizer
