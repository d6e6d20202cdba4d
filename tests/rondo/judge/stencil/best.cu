// Tiles of 64 x 32 results with a halo of one element. Each thread computes 8 results of a column, one below
// the other, and keeps the column in registers.
constexpr int kColumns = 64, kRows = 32, kThreadRows = 4, kEach = kRows / kThreadRows;

__global__ void stencil_kernel(const float* in, float* out, int rows, int columns) {
  __shared__ float tile[kRows + 2][kColumns + 2];
  const int column = blockIdx.x * kColumns, row = blockIdx.y * kRows;
  const auto load = [&](int y, int x) {
    const int i = row + y - 1, j = column + x - 1;
    tile[y][x] = i >= 0 && i < rows && j >= 0 && j < columns ? in[i * columns + j] : 0;
  };
  for (int y = threadIdx.y; y < kRows + 2; y += kThreadRows) {
    load(y, threadIdx.x + 1);
    if (threadIdx.x < 2) load(y, threadIdx.x * (kColumns + 1));
  }
  __syncthreads();
  const int x = threadIdx.x + 1, j = column + x - 1, first = threadIdx.y * kEach;
  if (j >= columns || row + first >= rows) return;
  float above = tile[first][x], value = tile[first + 1][x];
  for (int y = first + 1; y <= first + kEach && row + y <= rows; ++y) {
    const int i = row + y - 1;
    const float below = tile[y + 1][x];
    const bool border = i == 0 || i == rows - 1 || j == 0 || j == columns - 1;
    out[i * columns + j] = border ? value : 0.2f * (value + above + below + tile[y][x - 1] + tile[y][x + 1]);
    above = value, value = below;
  }
}

void stencil(const float* in, float* out, int rows, int columns) {
  const dim3 grid((columns + kColumns - 1) / kColumns, (rows + kRows - 1) / kRows);
  stencil_kernel<<<grid, dim3(kColumns, kThreadRows)>>>(in, out, rows, columns);
}
