// race: no barrier between the loads of the tile and the sums.
__global__ void stencil_kernel(const float* in, float* out, int rows, int columns) {
  __shared__ float tile[18][18];
  const int j = blockIdx.x * 16 + threadIdx.x - 1, i = blockIdx.y * 16 + threadIdx.y - 1;
  const bool inside = i >= 0 && i < rows && j >= 0 && j < columns;
  if (inside) tile[threadIdx.y][threadIdx.x] = in[i * columns + j];
  if (!inside || threadIdx.x % 17 == 0 || threadIdx.y % 17 == 0) return;
  float value = tile[threadIdx.y][threadIdx.x];
  if (i > 0 && i < rows - 1 && j > 0 && j < columns - 1)
    value = (value + tile[threadIdx.y - 1][threadIdx.x] + tile[threadIdx.y + 1][threadIdx.x] +
             tile[threadIdx.y][threadIdx.x - 1] + tile[threadIdx.y][threadIdx.x + 1]) /
            5;
  out[i * columns + j] = value;
}

void stencil(const float* in, float* out, int rows, int columns) {
  stencil_kernel<<<dim3((columns + 15) / 16, (rows + 15) / 16), dim3(18, 18)>>>(in, out, rows, columns);
}
