// Each element becomes the mean of itself and its four neighbours. stencil.md has the problem.
//   rondo judge check stencil.cu
//   rondo cuda stencil.cu              runs main() below

__global__ void stencil_kernel(const float* in, float* out, int rows, int columns) {
  // Each block computes one tile of out.
}

// in and out: rows x columns floats, row after row in the memory of the current device; rows and columns are
// at least 1.
void stencil(const float* in, float* out, int rows, int columns) {
  stencil_kernel<<<1, 1>>>(in, out, rows, columns);
}

#ifndef RONDO_JUDGE
#include <cstdio>

int main() {
  const int rows = 5, columns = 5;
  float *in, *out;
  cudaMallocManaged(&in, rows * columns * sizeof(float));
  cudaMallocManaged(&out, rows * columns * sizeof(float));
  for (int i = 0; i < rows * columns; ++i) in[i] = i == 7 ? 10 : 0, out[i] = -1;
  stencil(in, out, rows, columns);
  cudaDeviceSynchronize();
  for (int i = 0; i < rows; ++i)  // 0 0 0 0 0, 0 2 2 2 0, 0 0 2 0 0, 0 0 0 0 0, 0 0 0 0 0
    printf("%g %g %g %g %g\n", out[5 * i], out[5 * i + 1], out[5 * i + 2], out[5 * i + 3], out[5 * i + 4]);
  cudaFree(in);
  cudaFree(out);
}
#endif
