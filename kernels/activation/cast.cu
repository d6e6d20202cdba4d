#include <rondo/kernels/activation/cast.h>
#include <rondo/kernels/core/check.h>
#include <rondo/kernels/elementwise/flat.cuh>

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
  return detail::elementwise_flat("cast", stream, Same{}, y.data, y.size, x.data);
}

}  // namespace

#define RONDO_CAST(T)                                                            \
  Status cast(VectorView<T> y, VectorView<const float> x, cudaStream_t stream) { \
    return launch_cast(y, x, stream);                                            \
  }                                                                              \
  Status cast(VectorView<float> y, VectorView<const T> x, cudaStream_t stream) { \
    return launch_cast(y, x, stream);                                            \
  }
RONDO_FOR_NARROW_TYPES(RONDO_CAST)

}  // namespace rondo
