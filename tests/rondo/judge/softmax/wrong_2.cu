// race: the sums overwrite the maxima, which other threads may still read.
#include <cmath>

__global__ void softmax_kernel(const float* in, float* out, int columns) {
  __shared__ float shared[64];
  in += blockIdx.x * columns, out += blockIdx.x * columns;
  float max = -INFINITY, sum = 0;
  for (int j = threadIdx.x; j < columns; j += 64) max = fmaxf(max, in[j]);
  shared[threadIdx.x] = max;
  __syncthreads();
  for (int k = 0; k < 64; ++k) max = fmaxf(max, shared[k]);
  for (int j = threadIdx.x; j < columns; j += 64) sum += expf(in[j] - max);
  shared[threadIdx.x] = sum;
  __syncthreads();
  sum = 0;
  for (int k = 0; k < 64; ++k) sum += shared[k];
  for (int j = threadIdx.x; j < columns; j += 64) out[j] = expf(in[j] - max) / sum;
}

void softmax(const float* in, float* out, int rows, int columns) {
  softmax_kernel<<<rows, 64>>>(in, out, columns);
}
