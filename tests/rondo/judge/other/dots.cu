// Leaves a line of the standard error without an end before the executor reports the race.
#include <cstdio>

__global__ void add(const float* a, const float* b, float* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
  if (i < n) sum[0] = a[0] + b[0];
}

void vector_add(const float* a, const float* b, float* sum, int n) {
  fprintf(stderr, "...");
  add<<<(n + 255) / 256, 256>>>(a, b, sum, n);
}
