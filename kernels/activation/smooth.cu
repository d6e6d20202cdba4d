// GELU and the sigmoid: activations whose slopes are not 0 or 1.
#include <rondo/kernels/activation/gelu.h>
#include <rondo/kernels/activation/sigmoid.h>
#include <rondo/kernels/core/activation_functions.h>
#include <rondo/kernels/core/check.h>
#include <rondo/kernels/core/elementwise.cuh>

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

template <class Operation, class T>
Status forward(const char* name, VectorView<T> y, VectorView<const T> x, cudaStream_t stream) {
  ArgumentCheck check(name);
  check.output("y", y, {"x"});
  check.input("x", x);
  check.same_size("y", y, "x", x);
  RONDO_RETURN_IF_ERROR(check.status());
  return elementwise(name, stream, Operation{}, y.data, y.size, x.data);
}

// `saved`: what forward read or wrote, by its name.
template <class Operation, class T>
Status backward(const char* name, VectorView<T> dx, VectorView<const T> dy, const char* saved_name,
                VectorView<const T> saved, cudaStream_t stream) {
  ArgumentCheck check(name);
  check.output("dx", dx, {"dy", saved_name});
  check.input("dy", dy);
  check.input(saved_name, saved);
  check.same_size("dx", dx, "dy", dy);
  check.same_size(saved_name, saved, "dy", dy);
  RONDO_RETURN_IF_ERROR(check.status());
  return elementwise(name, stream, Operation{}, dx.data, dx.size, dy.data, saved.data);
}

}  // namespace

template <ValueType T>
Status gelu(VectorView<T> y, NonDeduced<VectorView<const T>> x, cudaStream_t stream) {
  return forward<Gelu, T>("gelu", y, x, stream);
}
template <ValueType T>
Status gelu_backward(VectorView<T> dx, NonDeduced<VectorView<const T>> dy, NonDeduced<VectorView<const T>> x,
                     cudaStream_t stream) {
  return backward<GeluBackward, T>("gelu_backward", dx, dy, "x", x, stream);
}
template <ValueType T>
Status gelu_tanh(VectorView<T> y, NonDeduced<VectorView<const T>> x, cudaStream_t stream) {
  return forward<GeluTanh, T>("gelu_tanh", y, x, stream);
}
template <ValueType T>
Status gelu_tanh_backward(VectorView<T> dx, NonDeduced<VectorView<const T>> dy,
                          NonDeduced<VectorView<const T>> x, cudaStream_t stream) {
  return backward<GeluTanhBackward, T>("gelu_tanh_backward", dx, dy, "x", x, stream);
}
template <ValueType T>
Status sigmoid(VectorView<T> y, NonDeduced<VectorView<const T>> x, cudaStream_t stream) {
  return forward<Sigmoid, T>("sigmoid", y, x, stream);
}
template <ValueType T>
Status sigmoid_backward(VectorView<T> dx, NonDeduced<VectorView<const T>> dy,
                        NonDeduced<VectorView<const T>> y, cudaStream_t stream) {
  return backward<SigmoidBackward, T>("sigmoid_backward", dx, dy, "y", y, stream);
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
