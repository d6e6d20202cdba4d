// race: a step in shared memory overwrites what other threads have still to read.
__global__ void scan_kernel(const int* in, int* out, int n) {
  __shared__ int sums[1024];
  int carried = 0;
  for (int first = 0; first < n; first += 1024) {
    const int i = first + threadIdx.x;
    sums[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int offset = 1; offset < 1024; offset *= 2) {
      if (threadIdx.x >= offset) sums[threadIdx.x] += sums[threadIdx.x - offset];
      __syncthreads();
    }
    if (i < n) out[i] = carried + sums[threadIdx.x];
    carried += sums[1023];
    __syncthreads();
  }
}

void scan(const int* in, int* out, int n) { scan_kernel<<<1, 1024>>>(in, out, n); }
