// A block for each row, which it keeps in registers.
#include <cmath>

constexpr int kThreads = 256, kWarps = kThreads / 32, kMostColumns = 4096, kEach = kMostColumns / kThreads;

struct Add {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Max {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// Of all threads of the block, in all threads. `shared` is used by no other call.
template <class Operation>
__device__ float reduce(float value, Operation operation, float (&shared)[kWarps]) {
  for (int offset = 16; offset > 0; offset /= 2)
    value = operation(value, __shfl_xor_sync(0xffffffff, value, offset));
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[threadIdx.x % kWarps];
  for (int offset = kWarps / 2; offset > 0; offset /= 2)
    value = operation(value, __shfl_xor_sync(0xffffffff, value, offset));
  return value;
}

__global__ void softmax_kernel(const float* in, float* out, int columns) {
  __shared__ float maxima[kWarps], sums[kWarps];
  in += static_cast<size_t>(blockIdx.x) * columns, out += static_cast<size_t>(blockIdx.x) * columns;
  float values[kEach], max = -INFINITY, sum = 0;
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const int j = threadIdx.x + k * kThreads;
    values[k] = j < columns ? in[j] : -INFINITY;
    max = fmaxf(max, values[k]);
  }
  max = reduce(max, Max(), maxima);
#pragma unroll
  for (int k = 0; k < kEach; ++k) sum += values[k] = __expf(values[k] - max);
  const float scale = 1 / reduce(sum, Add(), sums);
#pragma unroll
  for (int k = 0; k < kEach; ++k)
    if (const int j = threadIdx.x + k * kThreads; j < columns) out[j] = values[k] * scale;
}

void softmax(const float* in, float* out, int rows, int columns) {
  softmax_kernel<<<rows, kThreads>>>(in, out, columns);
}
