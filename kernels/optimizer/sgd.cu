#include <rondo/kernels/core/check.h>
#include <rondo/kernels/optimizer/sgd.h>
#include <rondo/kernels/core/elementwise.cuh>

namespace rondo {
namespace {

struct SgdUpdate {
  float step;
  // fmaf by name: whether a compiler fuses p - step * g must not decide a bit of the result.
  __device__ float operator()(float parameter, float gradient) const {
    return fmaf(-step, gradient, parameter);
  }
};

}  // namespace

Status sgd_update(VectorView<float> parameters, VectorView<const float> gradient, float learning_rate,
                  float scale, cudaStream_t stream) {
  RONDO_RETURN_IF_ERROR(check_view("sgd_update", "parameters", parameters));
  RONDO_RETURN_IF_ERROR(check_view("sgd_update", "gradient", gradient));
  if (gradient.size != parameters.size)
    return bad_argument("sgd_update: gradient.size is ", gradient.size,
                        ", must be parameters.size = ", parameters.size);
  return elementwise("sgd_update", stream, SgdUpdate{learning_rate * scale}, parameters.data, parameters.size,
                     parameters.data, gradient.data);
}

}  // namespace rondo
