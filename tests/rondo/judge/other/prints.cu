// Prints, and changes an input.
#include <cstdio>

__global__ void add(float* a, const float* b, float* sum) {
  printf("thread %d\n", threadIdx.x);
  a[0] += b[0];
  sum[0] = a[0];
}

void vector_add(const float* a, const float* b, float* sum, int) {
  add<<<1, 1>>>(const_cast<float*>(a), b, sum);
}
