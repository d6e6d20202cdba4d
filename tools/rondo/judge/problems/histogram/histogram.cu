// Counts bytes: counts[b] is the number of i with in[i] == b. histogram.md has the problem.
//   rondo judge check histogram.cu
//   rondo cuda histogram.cu            runs main() below

__global__ void histogram_kernel(const unsigned char* in, unsigned* counts, int n) {
  // Each block counts a part of the bytes.
}

// in: n bytes, counts: 256 numbers without a value yet, both in the memory of the current device; n >= 1.
void histogram(const unsigned char* in, unsigned* counts, int n) {
  histogram_kernel<<<1, 1>>>(in, counts, n);
}

#ifndef RONDO_JUDGE
#include <cstdio>

int main() {
  const char text[] = "she sells sea shells";
  const int n = sizeof(text) - 1;
  unsigned char* in;
  unsigned* counts;
  cudaMallocManaged(&in, n);
  cudaMallocManaged(&counts, 256 * sizeof(unsigned));
  for (int i = 0; i < n; ++i) in[i] = text[i];
  for (int b = 0; b < 256; ++b) counts[b] = 99;
  histogram(in, counts, n);
  cudaDeviceSynchronize();
  // s 6, e 4, l 4, z 0
  printf("s %u, e %u, l %u, z %u\n", counts['s'], counts['e'], counts['l'], counts['z']);
  cudaFree(in);
  cudaFree(counts);
}
#endif
