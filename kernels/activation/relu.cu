#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/core/check.h>
#include <rondo/kernels/core/elementwise.cuh>

namespace rondo {
namespace {

struct Relu {
  // Not fmaxf(x, 0), which would turn NaN into 0.
  __device__ float operator()(float x) const { return x <= 0 ? 0.0f : x; }
};

struct ReluBackward {
  __device__ float operator()(float dy, float y) const { return y > 0 ? dy : 0.0f; }
};

}  // namespace

template <ValueType T>
Status relu(VectorView<T> y, NonDeduced<VectorView<const T>> x, cudaStream_t stream) {
  ArgumentCheck check("relu");
  check.output("y", y, {"x"});
  check.input("x", x);
  check.same_size("y", y, "x", x);
  RONDO_RETURN_IF_ERROR(check.status());
  return elementwise("relu", stream, Relu{}, y.data, y.size, x.data);
}

template <ValueType T>
Status relu_backward(VectorView<T> dx, NonDeduced<VectorView<const T>> dy, NonDeduced<VectorView<const T>> y,
                     cudaStream_t stream) {
  ArgumentCheck check("relu_backward");
  check.output("dx", dx, {"dy", "y"});
  check.input("dy", dy);
  check.input("y", y);
  check.same_size("dx", dx, "dy", dy);
  check.same_size("y", y, "dy", dy);
  RONDO_RETURN_IF_ERROR(check.status());
  return elementwise("relu_backward", stream, ReluBackward{}, dx.data, dx.size, dy.data, y.data);
}

#define RONDO_RELU(T)                                                        \
  template Status relu<T>(VectorView<T>, VectorView<const T>, cudaStream_t); \
  template Status relu_backward<T>(VectorView<T>, VectorView<const T>, VectorView<const T>, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_RELU)

}  // namespace rondo
