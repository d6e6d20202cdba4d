// Max pooling: the largest value of each window of 2 x 2. max_pool.md has the problem.
//   rondo judge check max_pool.cu
//   rondo cuda max_pool.cu            runs main() below

__global__ void max_pool_kernel(const float* x, float* y, int height, int width) {
  // Each thread computes one element of y.
}

// x: channels x height x width floats, y: channels x (height / 2) x (width / 2) floats, both in the memory of
// the current device; the last index is contiguous. channels is at least 1, height and width are at least 2.
void max_pool(const float* x, float* y, int channels, int height, int width) {
  max_pool_kernel<<<1, 1>>>(x, y, height, width);
}

#ifndef RONDO_JUDGE
#include <cstdio>

int main() {
  const int height = 4, width = 5;
  float *x, *y;
  cudaMallocManaged(&x, height * width * sizeof(float));
  cudaMallocManaged(&y, 4 * sizeof(float));
  for (int i = 0; i < height * width; ++i) x[i] = i;
  for (int i = 0; i < 4; ++i) y[i] = -1;
  max_pool(x, y, 1, height, width);
  cudaDeviceSynchronize();
  printf("%g %g\n%g %g\n", y[0], y[1], y[2], y[3]);  // 6 8, 16 18
  cudaFree(x);
  cudaFree(y);
}
#endif
