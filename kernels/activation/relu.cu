#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/activation/activation.cuh>

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
  return activation::forward<Relu, T>("relu", y, x, stream);
}

template <ValueType T>
Status relu_backward(VectorView<T> dx, NonDeduced<VectorView<const T>> dy, NonDeduced<VectorView<const T>> y,
                     cudaStream_t stream) {
  return activation::backward<ReluBackward, T>("relu_backward", dx, dy, "y", y, stream);
}

#define RONDO_RELU(T)                                                        \
  template Status relu<T>(VectorView<T>, VectorView<const T>, cudaStream_t); \
  template Status relu_backward<T>(VectorView<T>, VectorView<const T>, VectorView<const T>, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_RELU)

}  // namespace rondo
