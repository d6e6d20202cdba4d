#include <rondo/kernels/optimizer/checks.h>
#include <rondo/kernels/optimizer/sgd.h>
#include <rondo/kernels/optimizer/update.cuh>

namespace rondo {
namespace {

using namespace optimizer;

// Without a velocity it rounds the same as with one and a momentum of 0.
struct Sgd {
  SgdOptions options;
  const float* learning_rate;
  float rate = 0;

  __device__ bool begin() {
    rate = *learning_rate;
    return may_step(options.found_inf);
  }
  // fmaf by name: whether a compiler fuses must not decide a bit of the result.
  __device__ __forceinline__ float slope(float parameter, float gradient) const {
    return fmaf(options.weight_decay, parameter, options.scale * gradient);
  }
  __device__ __forceinline__ void operator()(float& parameter, float gradient) const {
    parameter = fmaf(-rate, slope(parameter, gradient), parameter);
  }
  __device__ __forceinline__ void operator()(float& parameter, float gradient, float& velocity) const {
    const float g = slope(parameter, gradient);
    velocity = fmaf(options.momentum, velocity, g);
    parameter = fmaf(-rate, options.nesterov ? fmaf(options.momentum, velocity, g) : velocity, parameter);
  }
};

}  // namespace

Status sgd_update(VectorView<float> parameters, VectorView<float> velocity, VectorView<const float> gradient,
                  const float* learning_rate, const SgdOptions& options, cudaStream_t stream) {
  constexpr const char* kName = "sgd_update";
  const bool plain = options.momentum == 0 && velocity.size == 0;
  OptimizerCheck check(kName, parameters);
  if (!plain) check.state("velocity", velocity);
  check.gradient(gradient);
  check.input_value("learning_rate", learning_rate);
  check.optional_input_value("found_inf", options.found_inf);
  check.decay_rate("momentum", options.momentum);
  check.not_negative("weight_decay", options.weight_decay);
  check.finite("scale", options.scale);
  RONDO_RETURN_IF_ERROR(check.status());
  const Sgd rule = {options, learning_rate};
  if (plain) return update(kName, rule, parameters.size, parameters.data, gradient.data, stream);
  return update(kName, rule, parameters.size, parameters.data, gradient.data, stream, velocity.data);
}

}  // namespace rondo
