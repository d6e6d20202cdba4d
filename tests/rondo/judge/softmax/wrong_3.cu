// wrong: the maximum begins with 0, which is above all elements of a row of negative ones.
__global__ void softmax_kernel(const float* in, float* out, int columns) {
  in += blockIdx.x * columns, out += blockIdx.x * columns;
  float max = 0, sum = 0;
  for (int j = threadIdx.x; j < columns; j += 32) max = fmaxf(max, in[j]);
  for (int offset = 16; offset > 0; offset /= 2) max = fmaxf(max, __shfl_xor_sync(0xffffffff, max, offset));
  for (int j = threadIdx.x; j < columns; j += 32) sum += expf(in[j] - max);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
  for (int j = threadIdx.x; j < columns; j += 32) out[j] = expf(in[j] - max) / sum;
}

void softmax(const float* in, float* out, int rows, int columns) {
  softmax_kernel<<<rows, 32>>>(in, out, columns);
}
