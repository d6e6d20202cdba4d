// Computes the softmax of each row: out[i][j] = exp(in[i][j]) / sum of exp(in[i][k]).
// softmax.md has the problem.
//   rondo judge check softmax.cu
//   rondo cuda softmax.cu              runs main() below

__global__ void softmax_kernel(const float* in, float* out, int rows, int columns) {
  // Each block computes a row.
}

// in and out: rows x columns floats, row after row in the memory of the current device; rows >= 1,
// 1 <= columns <= 4096.
void softmax(const float* in, float* out, int rows, int columns) {
  softmax_kernel<<<1, 1>>>(in, out, rows, columns);
}

#ifndef RONDO_JUDGE
#include <cmath>
#include <cstdio>

int main() {
  const int rows = 2, columns = 3;
  float *in, *out;
  cudaMallocManaged(&in, rows * columns * sizeof(float));
  cudaMallocManaged(&out, rows * columns * sizeof(float));
  // Softmax does not change if all elements of a row become larger by the same number.
  for (int j = 0; j < columns; ++j) in[j] = logf(1 + j), in[columns + j] = in[j] + 1000;
  for (int j = 0; j < rows * columns; ++j) out[j] = -1;
  softmax(in, out, rows, columns);
  cudaDeviceSynchronize();
  for (int i = 0; i < rows; ++i)  // 0.1667 0.3333 0.5000, twice
    printf("%.4f %.4f %.4f\n", out[3 * i], out[3 * i + 1], out[3 * i + 2]);
  cudaFree(in);
  cudaFree(out);
}
#endif
