#include <rondo/kernels/activation/add.h>
#include <rondo/kernels/core/check.h>
#include <rondo/kernels/core/elementwise.cuh>

namespace rondo {
namespace {

struct Add {
  __device__ float operator()(float a, float b) const { return a + b; }
};

struct AddRelu {
  __device__ float operator()(float a, float b) const {
    const float sum = a + b;
    return sum <= 0 ? 0.0f : sum;
  }
};

}  // namespace

Status add(VectorView<float> y, VectorView<const float> a, VectorView<const float> b, bool relu,
           cudaStream_t stream) {
  RONDO_RETURN_IF_ERROR(check_view("add", "y", y));
  RONDO_RETURN_IF_ERROR(check_view("add", "a", a));
  RONDO_RETURN_IF_ERROR(check_view("add", "b", b));
  if (a.size != y.size) return bad_argument("add: a.size is ", a.size, ", must be y.size = ", y.size);
  if (b.size != y.size) return bad_argument("add: b.size is ", b.size, ", must be y.size = ", y.size);
  return relu ? elementwise("add", stream, AddRelu{}, y.data, y.size, a.data, b.data)
              : elementwise("add", stream, Add{}, y.data, y.size, a.data, b.data);
}

}  // namespace rondo
