#include <rondo/kernels/optimizer/adam.h>
#include <rondo/kernels/optimizer/checks.h>
#include <rondo/kernels/optimizer/update.cuh>

namespace rondo {
namespace {

using namespace optimizer;

// base^exponent by repeated squaring in double. It uses only multiplications, so every device computes the
// same bits; a library's power function does not guarantee this.
__device__ double power(double base, int64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result *= base;
    base *= base;
  }
  return result;
}

__global__ void begin_step_kernel(AdamState* state, const float* learning_rate, float beta1, float beta2,
                                  const unsigned long long* first_nonfinite) {
  if (!may_step(first_nonfinite)) return;
  const int64_t steps = state->steps + 1;
  state->steps = steps;
  state->correction1 = static_cast<float>(1 - power(beta1, steps));
  state->correction2 = static_cast<float>(1 - power(beta2, steps));
  state->rate = *learning_rate;
}

struct Adam {
  AdamOptions options;
  const AdamState* state;
  float step_size = 0, correction2 = 0, shrink = 0;

  __device__ bool begin() {
    step_size = state->rate / state->correction1;
    correction2 = state->correction2;
    shrink = options.decoupled ? fmaf(-state->rate, options.weight_decay, 1.0f) : 1.0f;
    return may_step(options.first_nonfinite);
  }
  // Explicit fmaf: the result must not depend on whether the compiler fuses operations.
  __device__ __forceinline__ void operator()(float& parameter, float gradient, float& first,
                                             float& second) const {
    float g = options.scale * gradient;
    if (!options.decoupled) g = fmaf(options.weight_decay, parameter, g);
    first = fmaf(options.beta1, first, (1 - options.beta1) * g);
    second = fmaf(options.beta2, second, (1 - options.beta2) * g * g);
    const float denominator = sqrtf(second / correction2) + options.eps;
    parameter = fmaf(-step_size, first / denominator, shrink * parameter);
  }
};

void check_options(OptimizerCheck& check, const AdamOptions& options) {
  check.decay_rate("beta1", options.beta1);
  check.decay_rate("beta2", options.beta2);
  check.not_negative("eps", options.eps);
  check.not_negative("weight_decay", options.weight_decay);
  check.finite("scale", options.scale);
  check.optional_input_value("first_nonfinite", options.first_nonfinite);
}

template <class Gradient, class Rounded>
Status launch_adam(VectorView<float> parameters, VectorView<Rounded> rounded, VectorView<float> first,
                   VectorView<float> second, VectorView<const Gradient> gradient, const AdamState* state,
                   const AdamOptions& options, cudaStream_t stream) {
  constexpr const char* kName = "adam_update";
  OptimizerCheck check(kName, parameters);
  check.state("first", first);
  check.state("second", second);
  check.gradient(gradient);
  if constexpr (!std::is_same_v<Rounded, NoCopy>) check.rounded(rounded);
  check.input_value("state", state);
  check_options(check, options);
  RONDO_RETURN_IF_ERROR(check.status());
  return update(kName, Adam{options, state}, parameters.size, parameters.data, gradient.data, rounded.data,
                stream, first.data, second.data);
}

}  // namespace

Status adam_begin_step(AdamState* state, const float* learning_rate, const AdamOptions& options,
                       cudaStream_t stream) {
  constexpr const char* kName = "adam_begin_step";
  OptimizerCheck check(kName);
  check.output_value("state", state);
  check.input_value("learning_rate", learning_rate);
  check_options(check, options);
  RONDO_RETURN_IF_ERROR(check.status());
  return launch(kName, {}, stream, begin_step_kernel, state, learning_rate, options.beta1, options.beta2,
                options.first_nonfinite);
}

Status adam_update(VectorView<float> parameters, VectorView<float> first, VectorView<float> second,
                   VectorView<const float> gradient, const AdamState* state, const AdamOptions& options,
                   cudaStream_t stream) {
  return launch_adam(parameters, VectorView<NoCopy>{}, first, second, gradient, state, options, stream);
}

template <NarrowType T, GradientOf<T> Gradient>
Status adam_update(VectorView<float> parameters, VectorView<T> rounded, VectorView<float> first,
                   VectorView<float> second, VectorView<Gradient> gradient, const AdamState* state,
                   const AdamOptions& options, cudaStream_t stream) {
  return launch_adam<std::remove_const_t<Gradient>>(parameters, rounded, first, second, gradient, state,
                                                    options, stream);
}

#define RONDO_ADAM_UPDATE(T, Gradient)                                                                \
  template Status adam_update<T, Gradient>(VectorView<float>, VectorView<T>, VectorView<float>,       \
                                           VectorView<float>, VectorView<Gradient>, const AdamState*, \
                                           const AdamOptions&, cudaStream_t);
RONDO_ADAM_UPDATE(__nv_bfloat16, float)
RONDO_ADAM_UPDATE(__nv_bfloat16, const float)
RONDO_ADAM_UPDATE(__nv_bfloat16, __nv_bfloat16)
RONDO_ADAM_UPDATE(__nv_bfloat16, const __nv_bfloat16)
RONDO_ADAM_UPDATE(__half, float)
RONDO_ADAM_UPDATE(__half, const float)
RONDO_ADAM_UPDATE(__half, __half)
RONDO_ADAM_UPDATE(__half, const __half)

}  // namespace rondo
