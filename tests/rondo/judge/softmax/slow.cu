// A thread for each row.
#include <cmath>

__global__ void softmax_kernel(const float* in, float* out, int rows, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  in += i * columns, out += i * columns;
  float max = -INFINITY, sum = 0;
  for (int j = 0; j < columns; ++j) max = fmaxf(max, in[j]);
  for (int j = 0; j < columns; ++j) sum += expf(in[j] - max);
  for (int j = 0; j < columns; ++j) out[j] = expf(in[j] - max) / sum;
}

void softmax(const float* in, float* out, int rows, int columns) {
  softmax_kernel<<<(rows + 31) / 32, 32>>>(in, out, rows, columns);
}
