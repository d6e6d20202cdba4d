// The second pass of split-K; see split_k.cuh. Each thread adds the parts of four neighbouring results: its
// loads are 16 bytes wide, and a warp reads 512 contiguous bytes of each part. Bound by memory traffic.
#include <rondo/kernels/core/pack.cuh>
#include <rondo/kernels/gemm/split_k.cuh>

namespace rondo {
namespace {

constexpr int kThreads = 128;

__global__ __launch_bounds__(kThreads) void sum_partials_kernel(Partials partials, float* to,
                                                                int64_t row_stride, int64_t column_stride,
                                                                Epilogue epilogue) {
  const int64_t first = 4 * (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x);
  const int64_t size = partials.part_size();
  if (first >= size) return;
  float sums[4] = {0, 0, 0, 0};
  RONDO_UNROLL_BY(4)
  for (int64_t part = 0; part < partials.count; ++part) {
    const auto values = load_pack<4>(partials.data + part * size + first);
    RONDO_UNROLL
    for (int j = 0; j < 4; ++j) sums[j] += values.v[j];
  }
  const int64_t row = first / partials.stride(), column = first % partials.stride();
  RONDO_UNROLL
  for (int j = 0; j < 4; ++j) {
    if (column + j >= partials.columns) break;
    float* value = to + row * row_stride + (column + j) * column_stride;
    *value = epilogue.value(sums[j], column + j, value);
  }
}

}  // namespace

Status sum_partials(const Partials& partials, float* to, int64_t row_stride, int64_t column_stride,
                    const Epilogue& epilogue, cudaStream_t stream) {
  const LaunchShape shape = {.grid_x = ceil_div<int64_t>(partials.part_size(), 4 * kThreads),
                             .block_x = kThreads};
  return launch("sum_partials", shape, stream, sum_partials_kernel, partials, to, row_stride, column_stride,
                epilogue);
}

}  // namespace rondo
