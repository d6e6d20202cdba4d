// What <cublas_v2.h> has besides products: copies of vectors and matrices with any steps, products with them.
#include <cublas_v2.h>

#include <cstdio>

void print(const char* name, const float* values, int count) {
  std::printf("%s:", name);
  for (int i = 0; i < count; ++i) std::printf(" %g", values[i]);
  std::printf("\n");
}

int main() {
  cublasHandle_t handle;
  cublasCreate(&handle);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cublasSetStream(handle, stream);
  float *a, *x, *y;
  cudaMalloc(&a, 12 * sizeof(float));
  cudaMalloc(&x, 8 * sizeof(float));
  cudaMalloc(&y, 8 * sizeof(float));

  // The first two rows of a matrix of 3 rows and 3 columns, to one of 4 rows.
  const float matrix[] = {1, 2, -1, 3, 4, -1, 5, 6, -1};
  cudaMemset(a, 0, 12 * sizeof(float));
  std::printf("%d", cublasSetMatrix(2, 3, sizeof(float), matrix, 3, a, 4));
  float back[12] = {};
  std::printf(" %d\n", cublasGetMatrixAsync(4, 3, sizeof(float), a, 4, back, 4, stream));
  cudaStreamSynchronize(stream);
  print("matrix", back, 12);

  // Every second element of x to adjacent elements, and every second element of y.
  const float vector[] = {1, 9, 10, 9, 100, 9};
  std::printf("%d", cublasSetVectorAsync(3, sizeof(float), vector, 2, x, 1, stream));
  cudaMemsetAsync(y, 0, 8 * sizeof(float), stream);
  const float one = 1, zero = 0;
  std::printf(" %d", cublasSgemv(handle, CUBLAS_OP_N, 2, 3, &one, a, 4, x, 1, &zero, y, 2));
  cudaStreamSynchronize(stream);
  float result[4] = {};
  std::printf(" %d\n", cublasGetVector(4, sizeof(float), y, 1, result, 1));
  print("product", result, 4);
  float spread[4] = {-1, -1, -1, -1};
  cublasGetVector(2, sizeof(float), y, 2, spread, 3);
  print("spread", spread, 4);

  // The product of the matrix and its transpose.
  float* c;
  cudaMalloc(&c, 4 * sizeof(float));
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, 2, 2, 3, &one, a, 4, a, 4, &zero, c, 2);
  cudaStreamSynchronize(stream);
  cublasGetMatrix(2, 2, sizeof(float), c, 2, back, 2);
  print("gram", back, 4);

  std::printf("%d %d %d %d\n", cublasSetMatrix(2, 3, sizeof(float), matrix, 1, a, 4),
              cublasGetVector(2, sizeof(float), y, 0, result, 1), cublasSetVector(2, 0, vector, 1, x, 1),
              cublasSetVector(0, sizeof(float), nullptr, 1, nullptr, 1));
  return cublasDestroy(handle);
}
