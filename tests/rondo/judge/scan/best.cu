// Sums of parts; then each block adds the sums before its part, and scans the part.
constexpr int kThreads = 512, kWarps = kThreads / 32, kMostParts = kThreads;
constexpr unsigned kAll = 0xffffffff;

__device__ int part_sums[kMostParts];

__device__ int sum_of_warp(int sum) {
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(kAll, sum, offset);
  return sum;
}

// The sum over the block, in all threads.
__device__ int sum_of_block(int sum) {
  __shared__ int sums[kWarps];
  sum = sum_of_warp(sum);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  return sum_of_warp(threadIdx.x % 32 < kWarps ? sums[threadIdx.x % 32] : 0);
}

__device__ int scan_of_warp(int sum) {
  for (int offset = 1; offset < 32; offset *= 2) {
    const int before = __shfl_up_sync(kAll, sum, offset);
    if (threadIdx.x % 32 >= offset) sum += before;
  }
  return sum;
}

__global__ void add_parts(const int* in, int part, int n) {
  const int begin = blockIdx.x * part, end = min(begin + part, n);
  int sum = 0;
  for (int i = begin + threadIdx.x; i < end; i += kThreads) sum += in[i];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) part_sums[blockIdx.x] = sum;
}

__global__ void scan_parts(const int* in, int* out, int part, int n) {
  __shared__ int warps[2][kWarps];  // of two steps: one barrier for each is enough
  const int begin = blockIdx.x * part, end = min(begin + part, n);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int before = sum_of_block(threadIdx.x < blockIdx.x ? part_sums[threadIdx.x] : 0), step = 0;
  for (int first = begin; first < end; first += kThreads, step ^= 1) {
    const int i = first + threadIdx.x;
    const int sum = scan_of_warp(i < end ? in[i] : 0);
    if (lane == 31) warps[step][warp] = sum;
    __syncthreads();
    const int sums = scan_of_warp(lane < kWarps ? warps[step][lane] : 0);
    const int of_warps_before = __shfl_sync(kAll, sums, (warp + 31) % 32);
    if (i < end) out[i] = before + (warp > 0 ? of_warps_before : 0) + sum;
    before += __shfl_sync(kAll, sums, 31);
  }
}

void scan(const int* in, int* out, int n) {
  const int tiles = (n + kThreads - 1) / kThreads, part = (tiles + kMostParts - 1) / kMostParts * kThreads;
  const int parts = (n + part - 1) / part;
  add_parts<<<parts, kThreads>>>(in, part, n);
  scan_parts<<<parts, kThreads>>>(in, out, part, n);
}
