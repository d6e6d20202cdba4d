// Warps as before Volta: sums without __syncwarp(), and a thread that waits for another one of its warp.
#include <cstdio>

constexpr int kThreads = 64;

__global__ void sum(const int* in, int* out) {
  __shared__ volatile int shared[kThreads];
  const int tid = threadIdx.x;
  shared[tid] = in[tid];
  __syncthreads();
  if (tid < 32) {
    shared[tid] += shared[tid + 32];
    shared[tid] += shared[tid + 16];
    shared[tid] += shared[tid + 8];
    shared[tid] += shared[tid + 4];
    shared[tid] += shared[tid + 2];
    shared[tid] += shared[tid + 1];
  }
  if (tid == 0) *out = shared[0];
}

// The loop gives up, so that a run without --lockstep ends.
__global__ void spin(volatile int* flag, int* out) {
  if (threadIdx.x == 0) {
    int tries = 0;
    while (*flag == 0 && ++tries < 1000000) {
    }
    *out = *flag;
  } else if (threadIdx.x == 40) {
    *flag = 7;
  }
}

int main() {
  int host[kThreads], result[2] = {};
  for (int i = 0; i < kThreads; ++i) host[i] = i;
  int *in, *out, *flag;
  cudaMalloc(&in, sizeof(host));
  cudaMalloc(&out, sizeof(result));
  cudaMalloc(&flag, sizeof(int));
  cudaMemset(flag, 0, sizeof(int));
  cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice);
  sum<<<1, kThreads>>>(in, out);
  spin<<<1, kThreads>>>(flag, out + 1);
  cudaMemcpy(result, out, sizeof(result), cudaMemcpyDeviceToHost);
  std::printf("the sum is %s, the flag %d\n", result[0] == 2016 ? "2016" : "wrong", result[1]);
}
