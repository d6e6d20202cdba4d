// race: the second reduction writes shared memory that other warps still read for the first one.
namespace {

constexpr int kThreads = 256, kEach = 4096 / kThreads;

struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Most {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// For all threads of the block. `shared` is free for another use after the next barrier.
template <class Operation>
__device__ float block_reduce(float value, float* shared, Operation operation) {
  for (int offset = 16; offset > 0; offset /= 2)
    value = operation(value, __shfl_xor_sync(~0u, value, offset));
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[threadIdx.x % (kThreads / 32)];
  for (int offset = kThreads / 64; offset > 0; offset /= 2)
    value = operation(value, __shfl_xor_sync(~0u, value, offset));
  return value;
}

__global__ void cross_entropy_kernel(const float* logits, const int* labels, float* losses, float* gradient,
                                     int rows, int classes) {
  __shared__ float shared[kThreads / 32];
  const size_t row = size_t{blockIdx.x} * classes;
  const int label = labels[blockIdx.x];
  float values[kEach], most = -INFINITY;
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const int c = threadIdx.x + k * kThreads;
    values[k] = c < classes ? logits[row + c] : -INFINITY;
    most = fmaxf(most, values[k]);
  }
  most = block_reduce(most, shared, Most());
  float sum = 0, of_label = 0;
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    if (threadIdx.x + k * kThreads == label) of_label = values[k];
    values[k] = expf(values[k] - most);
    sum += values[k];
  }
  sum = block_reduce(sum, shared, Sum());
  if (threadIdx.x == label % kThreads) losses[blockIdx.x] = logf(sum) + (most - of_label);
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const int c = threadIdx.x + k * kThreads;
    if (c < classes) gradient[row + c] = (values[k] / sum - (c == label)) / rows;
  }
}

}  // namespace

void cross_entropy(const float* logits, const int* labels, float* losses, float* gradient, int rows,
                   int classes) {
  cross_entropy_kernel<<<rows, kThreads>>>(logits, labels, losses, gradient, rows, classes);
}
