// Each of log2(n) kernels adds the element that is 1, 2, 4, ... before, and reads and writes all elements.
__global__ void add_before(const int* in, int* out, int offset, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] + (i >= offset ? in[i - offset] : 0);
}

void scan(const int* in, int* out, int n) {
  int* memory[2];
  for (int*& array : memory) cudaMallocAsync(reinterpret_cast<void**>(&array), n * sizeof(int), 0);
  const int* from = in;
  int step = 0;
  for (int offset = 1; offset == 1 || offset < n; offset *= 2) {
    int* const to = offset * 2 >= n ? out : memory[step ^= 1];
    add_before<<<(n + 255) / 256, 256>>>(from, to, offset, n);
    from = to;
  }
  for (int* array : memory) cudaFreeAsync(array, 0);
}
