// launch: a block of n threads, which is refused above 1024.
__global__ void add(const float* a, const float* b, float* sum) {
  sum[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}

void vector_add(const float* a, const float* b, float* sum, int n) { add<<<1, n>>>(a, b, sum); }
