// row_map(): the same operation for every row of a matrix, with constants per column that a thread loads
// once.
//
// Each thread processes N neighbouring columns of kRowsPerThread rows. `operation` is a functor:
// operation.channel<N>(col) loads the constants of N columns and returns an object whose row(row) processes a
// row; kWidest is the most columns at once. The constants are loaded 16 bytes at a time: lanes are N columns
// apart, so that a load of a single constant would touch up to 32 sectors.
#pragma once

#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/values.cuh>

#include <algorithm>

namespace rondo::norm {

constexpr int kMapThreads = 256;
constexpr int kRowsPerThread = 8;
constexpr int kVectorThreads = 16;  // of a block of the executor; each has all columns of neighbouring rows

// factor * from[k] for N neighbouring columns, as floats. `from` must be aligned to N elements, or to 16
// bytes if that is less.
template <int N>
__device__ __forceinline__ Values<N> load_scaled(const double* from, double factor) {
  constexpr int kAtOnce = N < 2 ? N : 2;
  Values<N> scaled;
  RONDO_UNROLL
  for (int k = 0; k < N; k += kAtOnce) {
    const auto pack = load_pack<kAtOnce>(from + k);
    for (int i = 0; i < kAtOnce; ++i) scaled.v[k + i] = static_cast<float>(factor * pack.v[i]);
  }
  return scaled;
}

template <int N, class Operation>
__global__ void __launch_bounds__(kMapThreads) row_map_kernel(Operation operation, int64_t rows, int cols) {
  if constexpr (kVectorTiles) {
    const int64_t first = (static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y) * kRowsPerThread;
    const int64_t last = min(first + kRowsPerThread, rows);
    for (int col = 0; col < cols; col += N) {
      const auto channel = operation.template channel<N>(col);
      for (int64_t row = first; row < last; ++row) channel.row(row);
    }
    return;
  }
  const int col = (static_cast<int>(blockIdx.y * blockDim.x) + static_cast<int>(threadIdx.x)) * N;
  if (col >= cols) return;
  const auto channel = operation.template channel<N>(col);
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.y * kRowsPerThread + threadIdx.y;
#pragma unroll
  for (int i = 0; i < kRowsPerThread; ++i) {
    const int64_t row = first + i * blockDim.y;
    if (row < rows) channel.row(row);
  }
}

template <int N, class Operation>
Status launch_row_map(const char* name, const Operation& operation, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  const int64_t packs = kVectorTiles ? 1 : ceil_div<int64_t>(cols, N);
  LaunchShape shape;
  shape.block_x = 1;
  while (shape.block_x < 32 && shape.block_x < packs) shape.block_x *= 2;
  shape.block_y = kVectorTiles ? kVectorThreads : kMapThreads / shape.block_x;
  shape.grid_x = ceil_div<int64_t>(rows, shape.block_y * kRowsPerThread);
  shape.grid_y = ceil_div<int64_t>(packs, shape.block_x);
  return launch(name, shape, stream, row_map_kernel<N, Operation>, operation, rows, static_cast<int>(cols));
}

template <class Operation>
Status row_map(const char* name, const Operation& operation, int64_t rows, int64_t cols, int width,
               cudaStream_t stream) {
  return width > 4    ? launch_row_map<Operation::kWidest>(name, operation, rows, cols, stream)
         : width == 4 ? launch_row_map<4>(name, operation, rows, cols, stream)
         : width == 2 ? launch_row_map<2>(name, operation, rows, cols, stream)
                      : launch_row_map<1>(name, operation, rows, cols, stream);
}

}  // namespace rondo::norm
