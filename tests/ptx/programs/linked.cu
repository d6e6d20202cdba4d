// Two files that nvcc -rdc=true compiled: functions, variables and constants of one file are used in the
// other, and both have some of the same name to themselves.
#include "linked.h"

static __device__ float own = 1;
static __device__ float shifted(float value) { return value + own; }

__global__ void compute(float* values, int past) {
  extern __shared__ float staged[];
  staged[threadIdx.x] = shifted(scaled(values[threadIdx.x])) + offsets[1];
  __syncthreads();
  values[threadIdx.x + past] = staged[blockDim.x - 1 - threadIdx.x];
}

int main(int count, char**) {
  float* values = nullptr;
  cudaMallocManaged(&values, 4 * sizeof(float));
  for (int i = 0; i < 4; ++i) values[i] = float(i);
  const float three = 3;
  cudaMemcpyToSymbol(factor, &three, sizeof three);
  set_offsets(0, 0.5f);
  compute<<<1, 4, 4 * sizeof(float)>>>(values, count > 1 ? 1000 : 0);
  add_twice<<<1, 4>>>(values, 1.0f);
  launch_there(values);
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) return std::printf("%s\n", cudaGetErrorName(error)), 1;
  std::printf("%g %g %g %g\n", values[0], values[1], values[2], values[3]);
}
