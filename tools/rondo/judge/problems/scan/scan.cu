// Computes prefix sums: out[i] = in[0] + ... + in[i] for 0 <= i < n. scan.md has the problem.
//   rondo judge check scan.cu
//   rondo cuda scan.cu                 runs main() below

__global__ void scan_kernel(const int* in, int* out, int n) {
  // Each block computes the prefix sums of a part of the elements.
}

// in and out: n ints in the memory of the current device; n >= 1.
void scan(const int* in, int* out, int n) { scan_kernel<<<1, 1>>>(in, out, n); }

#ifndef RONDO_JUDGE
#include <cstdio>

int main() {
  const int n = 10000;
  int *in, *out;
  cudaMallocManaged(&in, n * sizeof(int));
  cudaMallocManaged(&out, n * sizeof(int));
  for (int i = 0; i < n; ++i) in[i] = i, out[i] = -1;
  scan(in, out, n);
  cudaDeviceSynchronize();
  printf("%d %d %d %d, %d\n", out[0], out[1], out[2], out[3], out[n - 1]);  // 0 1 3 6, 49995000
  cudaFree(in);
  cudaFree(out);
}
#endif
