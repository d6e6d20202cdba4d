// GELU and the sigmoid: activations whose slopes are not 0 or 1.
#include <rondo/kernels/activation/gelu.h>
#include <rondo/kernels/activation/sigmoid.h>
#include <rondo/kernels/core/activation_functions.h>
#include <rondo/kernels/activation/activation.cuh>

namespace rondo {
namespace {

struct Gelu {
  __device__ float operator()(float x) const { return gelu_of(x); }
};
struct GeluBackward {
  __device__ float operator()(float dy, float x) const { return dy * gelu_slope(x); }
};
struct GeluTanh {
  __device__ float operator()(float x) const { return gelu_tanh_of(x); }
};
struct GeluTanhBackward {
  __device__ float operator()(float dy, float x) const { return dy * gelu_tanh_slope(x); }
};
struct Sigmoid {
  __device__ float operator()(float x) const { return sigmoid_of(x); }
};
struct SigmoidBackward {
  __device__ float operator()(float dy, float y) const { return dy * fmaf(-y, y, y); }
};

}  // namespace

template <ValueType T>
Status gelu(VectorView<T> y, NonDeduced<VectorView<const T>> x, cudaStream_t stream) {
  return activation::forward<Gelu, T>("gelu", y, x, stream);
}
template <ValueType T>
Status gelu_backward(VectorView<T> dx, NonDeduced<VectorView<const T>> dy, NonDeduced<VectorView<const T>> x,
                     cudaStream_t stream) {
  return activation::backward<GeluBackward, T>("gelu_backward", dx, dy, "x", x, stream);
}
template <ValueType T>
Status gelu_tanh(VectorView<T> y, NonDeduced<VectorView<const T>> x, cudaStream_t stream) {
  return activation::forward<GeluTanh, T>("gelu_tanh", y, x, stream);
}
template <ValueType T>
Status gelu_tanh_backward(VectorView<T> dx, NonDeduced<VectorView<const T>> dy,
                          NonDeduced<VectorView<const T>> x, cudaStream_t stream) {
  return activation::backward<GeluTanhBackward, T>("gelu_tanh_backward", dx, dy, "x", x, stream);
}
template <ValueType T>
Status sigmoid(VectorView<T> y, NonDeduced<VectorView<const T>> x, cudaStream_t stream) {
  return activation::forward<Sigmoid, T>("sigmoid", y, x, stream);
}
template <ValueType T>
Status sigmoid_backward(VectorView<T> dx, NonDeduced<VectorView<const T>> dy,
                        NonDeduced<VectorView<const T>> y, cudaStream_t stream) {
  return activation::backward<SigmoidBackward, T>("sigmoid_backward", dx, dy, "y", y, stream);
}

#define RONDO_SMOOTH(T)                                                                                    \
  template Status gelu<T>(VectorView<T>, VectorView<const T>, cudaStream_t);                               \
  template Status gelu_backward<T>(VectorView<T>, VectorView<const T>, VectorView<const T>, cudaStream_t); \
  template Status gelu_tanh<T>(VectorView<T>, VectorView<const T>, cudaStream_t);                          \
  template Status gelu_tanh_backward<T>(VectorView<T>, VectorView<const T>, VectorView<const T>,           \
                                        cudaStream_t);                                                     \
  template Status sigmoid<T>(VectorView<T>, VectorView<const T>, cudaStream_t);                            \
  template Status sigmoid_backward<T>(VectorView<T>, VectorView<const T>, VectorView<const T>, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_SMOOTH)

}  // namespace rondo
