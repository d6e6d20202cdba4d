// The transposed copy of the filter for the data gradient by wgmma in tf32 (conv2d_wgmma.cuh).
//
// A block transposes a tile of out channels x in channels of one tap in shared memory, so that the loads from
// KRSC and the stores to CRSK both have adjacent addresses in adjacent lanes.
#include <rondo/kernels/conv/implicit_gemm/wgmma_conv.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/shared.cuh>

namespace rondo {
namespace {

constexpr int kSide = 32, kRowsAtOnce = 8;

struct TransposeShared {
  float tile[kSide][kSide + 1];  // an odd row length: the lanes that read a column have different banks
};

struct TransposeParameters {
  float* to;
  const float* filter;
  int k, taps, c;
  int tiles_k, tiles_c;
};

__global__ __launch_bounds__(kSide* kRowsAtOnce) void transpose_filter_kernel(TransposeParameters p) {
  auto& shared = shared_memory<TransposeShared>();
  const int tap = static_cast<int>(blockIdx.x) % p.taps, tile = static_cast<int>(blockIdx.x) / p.taps;
  const int k0 = tile % p.tiles_k * kSide, c0 = tile / p.tiles_k * kSide;
  const int lane = static_cast<int>(threadIdx.x) % kSide, row = static_cast<int>(threadIdx.x) / kSide;
  for (int i = row; i < kSide && k0 + i < p.k; i += kRowsAtOnce)
    if (c0 + lane < p.c) shared.tile[i][lane] = p.filter[(int64_t{k0 + i} * p.taps + tap) * p.c + c0 + lane];
  __syncthreads();
  for (int i = row; i < kSide && c0 + i < p.c; i += kRowsAtOnce)
    if (k0 + lane < p.k) p.to[(int64_t{c0 + i} * p.taps + tap) * p.k + k0 + lane] = shared.tile[lane][i];
}

}  // namespace

Status transpose_filter(float* to, const float* filter, const ConvGeometry& g, cudaStream_t stream) {
  const TransposeParameters p = {to, filter, g.k, g.r * g.s, g.c, ceil_div(g.k, kSide), ceil_div(g.c, kSide)};
  return launch("transpose_filter",
                {.grid_x = int64_t{p.taps} * p.tiles_k * p.tiles_c,
                 .block_x = kSide * kRowsAtOnce,
                 .shared_bytes = sizeof(TransposeShared)},
                stream, transpose_filter_kernel, p);
}

}  // namespace rondo
