#include <rondo/kernels/core/check.h>
#include <rondo/kernels/data/fill.h>
#include <rondo/kernels/elementwise/flat.cuh>

namespace rondo {
namespace {

struct Constant {
  float value;
  __device__ float operator()() const { return value; }
};

}  // namespace

Status fill(VectorView<float> x, float value, cudaStream_t stream) {
  ArgumentCheck check("fill");
  check.output("x", x);
  RONDO_RETURN_IF_ERROR(check.status());
  return detail::elementwise_flat("fill", stream, Constant{value}, x.data, x.size);
}

}  // namespace rondo
