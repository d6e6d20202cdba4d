#include <rondo/kernels/activation/add_bias.h>
#include <rondo/kernels/elementwise/elementwise.cuh>

namespace rondo {
namespace {

struct AddBias {
  __device__ float operator()(float x, float bias) const { return x + bias; }
};

}  // namespace

template <ValueType T>
Status add_bias(MatrixView<T> y, NonDeduced<MatrixView<const T>> x, VectorView<const float> bias,
                cudaStream_t stream) {
  ArgumentCheck check("add_bias");
  check.output("y", y, {"x"});
  check.input("x", x);
  check.same_shape("x", x, "y", y);
  check.input("bias", bias);
  check.require(bias.size == y.cols, "bias.size is ", bias.size, ", must be y.cols = ", y.cols);
  RONDO_RETURN_IF_ERROR(check.status());
  return detail::run_elementwise("add_bias", y, AddBias{}, stream, detail::input_of(x),
                                 detail::input_of(bias));
}

#define RONDO_ADD_BIAS(T) \
  template Status add_bias<T>(MatrixView<T>, MatrixView<const T>, VectorView<const float>, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_ADD_BIAS)

}  // namespace rondo
