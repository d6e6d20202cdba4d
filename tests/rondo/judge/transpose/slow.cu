// Writes columns of out.
__global__ void transpose_kernel(const float* in, float* out, int rows, int columns) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < rows && j < columns) out[j * rows + i] = in[i * columns + j];
}

void transpose(const float* in, float* out, int rows, int columns) {
  const dim3 block(32, 8), grid((columns + 31) / 32, (rows + 7) / 8);
  transpose_kernel<<<grid, block>>>(in, out, rows, columns);
}
