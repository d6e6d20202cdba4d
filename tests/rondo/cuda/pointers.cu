// Pointers in structs that are arguments of kernels, and addresses without memory, in a run without checks.
// The first argument is the number of the mistake.
#include <cstdio>
#include <cstdlib>

struct Matrix {
  int rows, columns;
  float* values;
};
struct Product {
  Matrix factors[2];
  const char* name = nullptr;
  float* sum = nullptr;
};

__global__ void add(Product product) {
  const int i = static_cast<int>(threadIdx.x);
  atomicAdd(product.sum, product.factors[0].values[i] * product.factors[1].values[i]);
}
__global__ void write(float* values, int i) { values[i] = 1; }
__global__ void indirect(float** table) { *table[threadIdx.x] = 1; }

int main(int argc, char** argv) {
  const int mistake = argc > 1 ? std::atoi(argv[1]) : 0;
  float host[64], *a, *b, *sum, **table;
  for (float& value : host) value = 2;
  cudaMalloc(&a, sizeof(host));
  cudaMalloc(&b, sizeof(host));
  cudaMalloc(&sum, sizeof(float));
  cudaMalloc(&table, sizeof(float*));
  cudaMemcpy(a, host, sizeof(host), cudaMemcpyHostToDevice);
  cudaMemcpy(b, host, sizeof(host), cudaMemcpyHostToDevice);
  cudaMemset(sum, 0, sizeof(float));
  Product product = {{{8, 8, a}, {8, 8, b}}, "a name on the host", sum};
  switch (mistake) {
    case 1: product.factors[1].values = host; break;
    case 2: cudaFree(b); break;
    case 3: product.factors[0].values = nullptr; break;
    case 4: write<<<1, 1>>>(nullptr, 3); break;
    case 5: indirect<<<1, 1>>>(table); break;  // nobody has written the table
  }
  if (mistake < 4) add<<<1, 64>>>(product);
  float result = 0;
  const cudaError_t error = cudaMemcpy(&result, sum, sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("%g %s\n", result, cudaGetErrorName(error));
}
