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

Status check_sizes(const char* operation, const char* out, int64_t out_size, const char* in,
                   int64_t in_size) {
  if (out_size == in_size) return {};
  return bad_argument(operation, ": ", out, ".size is ", out_size, ", must be ", in, ".size = ", in_size);
}

}  // namespace

Status relu(VectorView<float> y, VectorView<const float> x, cudaStream_t stream) {
  RONDO_RETURN_IF_ERROR(check_view("relu", "y", y));
  RONDO_RETURN_IF_ERROR(check_view("relu", "x", x));
  RONDO_RETURN_IF_ERROR(check_sizes("relu", "y", y.size, "x", x.size));
  return elementwise("relu", stream, Relu{}, y.data, y.size, x.data);
}

Status relu_backward(VectorView<float> dx, VectorView<const float> dy, VectorView<const float> y,
                     cudaStream_t stream) {
  RONDO_RETURN_IF_ERROR(check_view("relu_backward", "dx", dx));
  RONDO_RETURN_IF_ERROR(check_view("relu_backward", "dy", dy));
  RONDO_RETURN_IF_ERROR(check_view("relu_backward", "y", y));
  RONDO_RETURN_IF_ERROR(check_sizes("relu_backward", "dx", dx.size, "dy", dy.size));
  RONDO_RETURN_IF_ERROR(check_sizes("relu_backward", "y", y.size, "dy", dy.size));
  return elementwise("relu_backward", stream, ReluBackward{}, dx.data, dx.size, dy.data, y.data);
}

}  // namespace rondo
