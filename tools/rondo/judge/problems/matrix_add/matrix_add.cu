// Adds two matrices whose rows are `stride` floats apart. matrix_add.md has the problem.
//   rondo judge check matrix_add.cu
//   rondo cuda matrix_add.cu           runs main() below

__global__ void add(const float* a, const float* b, float* sum, int rows, int columns, int stride) {
  // Each thread computes one element.
}

// a, b and sum: rows x stride floats in the memory of the current device; the first `columns` of each row
// are elements; rows >= 1, columns >= 1, stride >= columns.
void matrix_add(const float* a, const float* b, float* sum, int rows, int columns, int stride) {
  add<<<1, 1>>>(a, b, sum, rows, columns, stride);
}

#ifndef RONDO_JUDGE
#include <cstdio>

int main() {
  const int rows = 3, columns = 3, stride = 4;
  float* memory;
  cudaMallocManaged(&memory, 3 * rows * stride * sizeof(float));
  float *a = memory, *b = a + rows * stride, *sum = b + rows * stride;
  for (int i = 0; i < rows * stride; ++i) a[i] = i, b[i] = 100, sum[i] = -1;
  matrix_add(a, b, sum, rows, columns, stride);
  cudaDeviceSynchronize();
  for (int i = 0; i < rows; ++i)  // 100 101 102 -1, 104 105 106 -1, 108 109 110 -1
    printf("%g %g %g %g\n", sum[i * stride], sum[i * stride + 1], sum[i * stride + 2], sum[i * stride + 3]);
  cudaFree(memory);
}
#endif
