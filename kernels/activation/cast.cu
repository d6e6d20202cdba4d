#include <rondo/kernels/activation/cast.h>
#include <rondo/kernels/core/check.h>
#include <rondo/kernels/core/elementwise.cuh>

namespace rondo {
namespace {

struct Same {
  __device__ float operator()(float x) const { return x; }
};

template <class To, class From>
Status launch_cast(VectorView<To> y, VectorView<const From> x, cudaStream_t stream) {
  ArgumentCheck check("cast");
  check.output("y", y);
  check.input("x", x);
  check.same_size("y", y, "x", x);
  RONDO_RETURN_IF_ERROR(check.status());
  return elementwise("cast", stream, Same{}, y.data, y.size, x.data);
}

}  // namespace

Status cast(VectorView<__nv_bfloat16> y, VectorView<const float> x, cudaStream_t stream) {
  return launch_cast(y, x, stream);
}

Status cast(VectorView<float> y, VectorView<const __nv_bfloat16> x, cudaStream_t stream) {
  return launch_cast(y, x, stream);
}

}  // namespace rondo
