// Has right results, and a destructor that ends the process.
#include <cstdlib>

struct Destroyed {
  ~Destroyed() { std::abort(); }
} destroyed;

__global__ void add(const float* a, const float* b, float* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
}

void vector_add(const float* a, const float* b, float* sum, int n) {
  add<<<(n + 255) / 256, 256>>>(a, b, sum, n);
}
