// Transposes a matrix: out[j][i] = in[i][j]. transpose.md has the problem.
//   rondo judge check transpose.cu
//   rondo cuda transpose.cu            runs main() below

__global__ void transpose_kernel(const float* in, float* out, int rows, int columns) {
  // Block (x, y) transposes one part of the matrix.
}

// in: rows x columns floats, out: columns x rows floats, both row after row in the memory of the current
// device; rows and columns are at least 1.
void transpose(const float* in, float* out, int rows, int columns) {
  transpose_kernel<<<1, 1>>>(in, out, rows, columns);
}

#ifndef RONDO_JUDGE
#include <cstdio>

int main() {
  const int rows = 2, columns = 3;
  float *in, *out;
  cudaMallocManaged(&in, rows * columns * sizeof(float));
  cudaMallocManaged(&out, rows * columns * sizeof(float));
  for (int i = 0; i < rows * columns; ++i) in[i] = i, out[i] = -1;
  transpose(in, out, rows, columns);
  cudaDeviceSynchronize();
  for (int j = 0; j < columns; ++j) printf("%g %g\n", out[j * rows], out[j * rows + 1]);  // 0 3, 1 4, 2 5
  cudaFree(in);
  cudaFree(out);
}
#endif
