#include <rondo/kernels/activation/add.h>
#include <rondo/kernels/core/check.h>
#include <rondo/kernels/elementwise/flat.cuh>

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

template <ValueType T>
Status add(VectorView<T> y, NonDeduced<VectorView<const T>> a, NonDeduced<VectorView<const T>> b, bool relu,
           cudaStream_t stream) {
  ArgumentCheck check("add");
  check.output("y", y, {"a", "b"});
  check.input("a", a);
  check.input("b", b);
  check.same_size("a", a, "y", y);
  check.same_size("b", b, "y", y);
  RONDO_RETURN_IF_ERROR(check.status());
  return relu ? detail::elementwise_flat("add", stream, AddRelu{}, y.data, y.size, a.data, b.data)
              : detail::elementwise_flat("add", stream, Add{}, y.data, y.size, a.data, b.data);
}

#define RONDO_ADD(T) \
  template Status add<T>(VectorView<T>, VectorView<const T>, VectorView<const T>, bool, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_ADD)

}  // namespace rondo
