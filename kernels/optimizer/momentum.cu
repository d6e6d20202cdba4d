#include <rondo/kernels/optimizer/checks.h>
#include <rondo/kernels/optimizer/momentum.h>
#include <rondo/kernels/optimizer/update.cuh>

namespace rondo {
namespace {

using namespace optimizer;

// No momentum, no velocity: the same roundings, where nobody reads what was before.
struct Plain {
  MomentumOptions options;
  const float* learning_rate;
  float rate = 0;

  __device__ bool begin() {
    rate = *learning_rate;
    return may_step(options.guard);
  }
  // fmaf by name: whether a compiler fuses must not decide a bit of the result.
  __device__ __forceinline__ float slope(float parameter, float gradient) const {
    return fmaf(options.weight_decay, parameter, options.scale * gradient);
  }
  __device__ __forceinline__ void operator()(float& parameter, float gradient) const {
    parameter = fmaf(-rate, slope(parameter, gradient), parameter);
  }
};

struct Momentum : Plain {
  __device__ __forceinline__ void operator()(float& parameter, float gradient, float& velocity) const {
    const float g = slope(parameter, gradient);
    velocity = fmaf(options.momentum, velocity, g);
    parameter = fmaf(-rate, options.nesterov ? fmaf(options.momentum, velocity, g) : velocity, parameter);
  }
};

}  // namespace

Status momentum_update(VectorView<float> parameters, VectorView<float> velocity,
                       VectorView<const float> gradient, const float* learning_rate,
                       const MomentumOptions& options, cudaStream_t stream) {
  constexpr const char* kName = "momentum_update";
  const bool plain = options.momentum == 0 && velocity.size == 0;
  if (plain)
    RONDO_RETURN_IF_ERROR(check_arrays(kName, parameters, std::pair("gradient", gradient)));
  else
    RONDO_RETURN_IF_ERROR(
        check_arrays(kName, parameters, std::pair("velocity", velocity), std::pair("gradient", gradient)));
  RONDO_RETURN_IF_ERROR(check_pointer(kName, "learning_rate", learning_rate, 1));
  RONDO_RETURN_IF_ERROR(check_share(kName, "momentum", options.momentum));
  RONDO_RETURN_IF_ERROR(check_not_negative(kName, "weight_decay", options.weight_decay));
  RONDO_RETURN_IF_ERROR(check_finite(kName, "scale", options.scale));
  if (plain)
    return update(kName, Plain{options, learning_rate}, parameters.size, parameters.data, gradient.data,
                  stream);
  return update(kName, Momentum{{options, learning_rate}}, parameters.size, parameters.data, gradient.data,
                stream, velocity.data);
}

}  // namespace rondo
