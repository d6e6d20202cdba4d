// Programs with one mistake each: wrong NAME. The comment at the end of a line is the name of the mistake
// that is there; programs_test.cpp expects a message with that line.
#include <cassert>
#include <cstdio>
#include <cstring>

__global__ void out_of_bounds(float* x, int n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) x[i] = 1;  // mistake: out_of_bounds
}

__global__ void before(float* x) {
  x[-1] = 1;  // mistake: before
}

__global__ void misaligned(float* x) {
  reinterpret_cast<float2*>(x + 1)[threadIdx.x] = {1, 2};  // mistake: misaligned
}

__global__ void freed(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // mistake: freed
}

__global__ void host_pointer(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // mistake: host_pointer
}

__global__ void other_device(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // mistake: other_device
}

__global__ void shared_end(float* y) {
  __shared__ float tile[64];
  tile[threadIdx.x] = 1;
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x + 1 + 64 * blockDim.x];  // mistake: shared_end
}

__global__ void missing_lanes(float* y) {
  if (threadIdx.x < 16) y[threadIdx.x] = __shfl_xor_sync(~0u, y[threadIdx.x], 16);  // mistake: missing_lanes
}

__global__ void half_a_barrier(float* y) {
  __shared__ float tile[64];
  tile[threadIdx.x] = y[threadIdx.x];
  if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;" ::: "memory");  // mistake: half_a_barrier
  y[threadIdx.x] = tile[63 - threadIdx.x];
}

__global__ void unwritten(float* y) {
  __shared__ float tile[64];
  if (threadIdx.x < 63) tile[threadIdx.x] = 1;
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x];  // mistake: unwritten
}

__global__ void no_assertion(const float* x) {
  assert(x[threadIdx.x] == 1);  // mistake: no_assertion
}

__global__ void trap(const float* x) {
  if (x[threadIdx.x] == 0) __trap();  // mistake: trap
}

__global__ void held_lock(int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) {  // mistake: held_lock
  }
}

__global__ void two_barriers(float* y) {
  if (threadIdx.x < 16) {
    __syncthreads();  // mistake: two_barriers
    y[threadIdx.x] = 1;
  } else {
    __syncthreads();
    y[threadIdx.x] = 2;
  }
}

__global__ void own_mask(float* y) {
  y[threadIdx.x] = __shfl_sync(0xffff, y[threadIdx.x], 1);  // mistake: own_mask
}

int main(int count, char** names) {
  const char* const name = count > 1 ? names[1] : "";
  float *x, *y;
  cudaMalloc(&x, 64 * sizeof(float));
  cudaMalloc(&y, 64 * sizeof(float));
  cudaMemset(x, 0, 64 * sizeof(float));
  cudaMemset(y, 0, 64 * sizeof(float));
  if (!std::strcmp(name, "out_of_bounds")) out_of_bounds<<<2, 64>>>(x, 64);
  if (!std::strcmp(name, "before")) before<<<1, 1>>>(x);
  if (!std::strcmp(name, "misaligned")) misaligned<<<1, 16>>>(x);
  if (!std::strcmp(name, "freed")) {
    cudaFree(x);
    freed<<<1, 64>>>(x, y);
  }
  float numbers[64] = {};
  if (!std::strcmp(name, "host_pointer")) host_pointer<<<1, 64>>>(numbers, y);
  if (!std::strcmp(name, "other_device")) {
    cudaSetDevice(1);
    cudaMalloc(&y, 64 * sizeof(float));
    other_device<<<1, 64>>>(x, y);
  }
  if (!std::strcmp(name, "shared_end")) shared_end<<<1, 64>>>(y);
  if (!std::strcmp(name, "missing_lanes")) missing_lanes<<<1, 32>>>(y);
  if (!std::strcmp(name, "half_a_barrier")) half_a_barrier<<<1, 64>>>(y);
  if (!std::strcmp(name, "unwritten")) unwritten<<<1, 64>>>(y);
  if (!std::strcmp(name, "no_assertion")) no_assertion<<<1, 32>>>(x);
  if (!std::strcmp(name, "trap")) trap<<<1, 32>>>(x);
  if (!std::strcmp(name, "held_lock")) held_lock<<<2, 1>>>(reinterpret_cast<int*>(x));
  if (!std::strcmp(name, "two_barriers")) two_barriers<<<1, 32>>>(y);
  if (!std::strcmp(name, "own_mask")) own_mask<<<1, 32>>>(y);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return 0;
}
