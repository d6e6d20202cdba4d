// A sum that is 0 unless the product is not rounded.
#include <cstdio>

__global__ void product_and_sum(float* out, float a, float b) { *out = a * a + b; }

int main() {
  float* out;
  cudaMallocManaged(&out, sizeof(float));
  product_and_sum<<<1, 1>>>(out, 1.0000001f, -1.0000002f);
  cudaDeviceSynchronize();
  std::printf("%g\n", *out);
}
