// elementwise() with a function of the program. For a GPU this is a .cu file that nvcc compiles; for the CPU
// executor it is C++.

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/version.h>
#include <rondo/kernels/elementwise/elementwise.cuh>

#include <iostream>
#include <vector>

static_assert(std::string_view(RONDO_VERSION_STRING) == EXPECTED_VERSION);

namespace {

struct Blend {
  float weight;
  __device__ float operator()(float a, float b) const { return weight * a + (1 - weight) * b; }
};

}  // namespace

int main() {
  rondo::Stream stream;
  const rondo::Buffer<float> a(std::vector<float>{1, 2, 3, 4, 5, 6}), row(std::vector<float>{10, 20, 30});
  rondo::Buffer<float> y(6), z(6);
  rondo::Status status = rondo::elementwise(
      "blend", rondo::matrix(y.data(), 2, 3),
      rondo::inputs(rondo::matrix(a.data(), 2, 3), rondo::matrix(row.data(), 1, 3)), Blend{0.5f}, stream);
  const float shift = 100;
  if (status.ok())
    status = rondo::elementwise(
        "shift", rondo::VectorView<float>{z.data(), 6},
        rondo::inputs(rondo::VectorView<const float>{y.data(), 6}, 2.0f),
        [=] __device__(float x, float scale) { return scale * x + shift; }, stream);
  if (!status.ok()) {
    std::cerr << status.message() << '\n';
    return 1;
  }
  stream.synchronize();
  return z.download() == std::vector<float>{111, 122, 133, 114, 125, 136} ? 0 : 1;
}
