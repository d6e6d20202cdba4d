#include <cstdio>

#include "scale.cuh"

int main(int argc, char** argv) {
  float* values;
  cudaMalloc(&values, kCount * sizeof(float));
  fill<<<1, kCount>>>(values);
  scale_on_device(values);
  float host[kCount];
  cudaMemcpy(host, values, sizeof(host), cudaMemcpyDeviceToHost);
  std::printf("%g %g, %d arguments: %s\n", host[0], host[kCount - 1], argc - 1, argc > 1 ? argv[1] : "none");
  return argc == 3 ? 7 : 0;
}
