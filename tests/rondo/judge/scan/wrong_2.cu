// wrong: the blocks do not add the sums of the blocks before them.
__global__ void scan_kernel(const int* in, int* out, int n) {
  __shared__ int sums[2][256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  int from = 0;
  sums[from][threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int offset = 1; offset < 256; offset *= 2, from ^= 1) {
    const int before = threadIdx.x >= offset ? sums[from][threadIdx.x - offset] : 0;
    sums[from ^ 1][threadIdx.x] = sums[from][threadIdx.x] + before;
    __syncthreads();
  }
  if (i < n) out[i] = sums[from][threadIdx.x];
}

void scan(const int* in, int* out, int n) { scan_kernel<<<(n + 255) / 256, 256>>>(in, out, n); }
