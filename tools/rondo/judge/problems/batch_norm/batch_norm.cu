// Batch normalisation: each channel gets mean 0 and variance 1 over the rows. batch_norm.md has the problem.
//   rondo judge check batch_norm.cu
//   rondo cuda batch_norm.cu            runs main() below

__global__ void batch_norm_kernel(const float* x, const float* gamma, const float* beta, float* mean,
                                  float* variance, float* y, int rows, int channels, float epsilon) {
  // One kernel may be enough, or one that reduces and one that normalises.
}

// x and y: rows x channels floats, row after row; gamma, beta, mean and variance: one value for each channel;
// all in the memory of the current device. rows and channels are at least 1, epsilon is above 0.
void batch_norm(const float* x, const float* gamma, const float* beta, float* mean, float* variance, float* y,
                int rows, int channels, float epsilon) {
  batch_norm_kernel<<<1, 1>>>(x, gamma, beta, mean, variance, y, rows, channels, epsilon);
}

#ifndef RONDO_JUDGE
#include <cstdio>

int main() {
  const int rows = 2, channels = 2;
  float* memory;
  cudaMallocManaged(&memory, (2 * rows * channels + 4 * channels) * sizeof(float));
  float *x = memory, *y = x + rows * channels, *gamma = y + rows * channels, *beta = gamma + channels;
  float *mean = beta + channels, *variance = mean + channels;
  x[0] = 1, x[1] = 1000, x[2] = 3, x[3] = 1004;
  gamma[0] = gamma[1] = 1, beta[0] = 0, beta[1] = 5;
  batch_norm(x, gamma, beta, mean, variance, y, rows, channels, 1e-6f);
  cudaDeviceSynchronize();
  printf("mean %g %g, variance %g %g\n", mean[0], mean[1], variance[0], variance[1]);  // 2 1002, 1 4
  printf("y %.3f %.3f, %.3f %.3f\n", y[0], y[1], y[2], y[3]);                          // -1 4, 1 6
  cudaFree(memory);
}
#endif
