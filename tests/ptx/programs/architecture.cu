// Prints for which architecture the code was compiled that the device runs.
#include <cstdio>

__global__ void print_architecture() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  std::printf("%d with the features of 9.0 alone\n", __CUDA_ARCH__);
#elif defined(__CUDA_ARCH__)
  std::printf("%d\n", __CUDA_ARCH__);
#endif
}

int main() {
  print_architecture<<<1, 1>>>();
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) return std::printf("%s\n", cudaGetErrorName(error)), 1;
}
