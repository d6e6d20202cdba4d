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
    return may_step(options.first_nonfinite);
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

template <class Gradient, class Rounded>
Status launch_sgd(VectorView<float> parameters, VectorView<Rounded> rounded, VectorView<float> velocity,
                  VectorView<const Gradient> gradient, const float* learning_rate, const SgdOptions& options,
                  cudaStream_t stream) {
  constexpr const char* kName = "sgd_update";
  const bool plain = options.momentum == 0 && velocity.size == 0;
  OptimizerCheck check(kName, parameters);
  if (!plain) check.state("velocity", velocity);
  check.gradient(gradient);
  if constexpr (!std::is_same_v<Rounded, NoCopy>) check.rounded(rounded);
  check.input_value("learning_rate", learning_rate);
  check.optional_input_value("first_nonfinite", options.first_nonfinite);
  check.decay_rate("momentum", options.momentum);
  check.not_negative("weight_decay", options.weight_decay);
  check.finite("scale", options.scale);
  RONDO_RETURN_IF_ERROR(check.status());
  const Sgd rule = {options, learning_rate};
  if (plain)
    return update(kName, rule, parameters.size, parameters.data, gradient.data, rounded.data, stream);
  return update(kName, rule, parameters.size, parameters.data, gradient.data, rounded.data, stream,
                velocity.data);
}

}  // namespace

Status sgd_update(VectorView<float> parameters, VectorView<float> velocity, VectorView<const float> gradient,
                  const float* learning_rate, const SgdOptions& options, cudaStream_t stream) {
  return launch_sgd(parameters, VectorView<NoCopy>{}, velocity, gradient, learning_rate, options, stream);
}

template <NarrowType T, GradientOf<T> Gradient>
Status sgd_update(VectorView<float> parameters, VectorView<T> rounded, VectorView<float> velocity,
                  VectorView<Gradient> gradient, const float* learning_rate, const SgdOptions& options,
                  cudaStream_t stream) {
  return launch_sgd<std::remove_const_t<Gradient>>(parameters, rounded, velocity, gradient, learning_rate,
                                                   options, stream);
}

#define RONDO_SGD_UPDATE(T, Gradient)                                                            \
  template Status sgd_update<T, Gradient>(VectorView<float>, VectorView<T>, VectorView<float>,   \
                                          VectorView<Gradient>, const float*, const SgdOptions&, \
                                          cudaStream_t);
RONDO_SGD_UPDATE(__nv_bfloat16, float)
RONDO_SGD_UPDATE(__nv_bfloat16, const float)
RONDO_SGD_UPDATE(__nv_bfloat16, __nv_bfloat16)
RONDO_SGD_UPDATE(__nv_bfloat16, const __nv_bfloat16)
RONDO_SGD_UPDATE(__half, float)
RONDO_SGD_UPDATE(__half, const float)
RONDO_SGD_UPDATE(__half, __half)
RONDO_SGD_UPDATE(__half, const __half)

}  // namespace rondo
