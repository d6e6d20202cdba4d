// Filter gradient for few channels: few results, each a sum over all pixels of the batch.
//
// Each thread accumulates 9 taps x 8 out channels in registers and iterates over rows of dy: for each pixel
// it reads 8 values of dy and 9 of x for 72 multiply-adds. The threads of a block that share results (its
// *row threads*) process different rows, and are added in shared memory in a fixed order. sum_partials() then
// adds the blocks. Bound by the bytes of dy.
#include <rondo/kernels/conv/direct/few_channels.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/core/values.cuh>
#include <rondo/kernels/gemm/partial_sums.cuh>

#include <algorithm>

namespace rondo {
namespace {

constexpr int kThreads = 128;
constexpr int kTaps = 9;     // per thread
constexpr int kVecSize = 8;  // out channels per thread

// The layout of threads over the results. It depends only on the geometry.
struct Layout {
  int chunks;       // number of chunks of kVecSize out channels
  int items;        // chunks x groups of kTaps taps; a thread computes one item
  int items_block;  // items per block
  int row_threads;
};
__host__ __device__ Layout layout_of(const ConvGeometry& g) {
  Layout layout;
  layout.chunks = ceil_div(g.k, kVecSize);
  layout.items = layout.chunks * ceil_div(g.patch, kTaps);
  layout.items_block = layout.items < kThreads ? layout.items : kThreads;
  layout.row_threads = kThreads / (layout.items_block > 0 ? layout.items_block : 1);
  return layout;
}

template <class T>
struct Parameters {
  ConvGeometry geometry;
  const T* x;
  const T* dy;
  bool dy_aligned;  // pixels begin at multiples of 16 bytes
  float* dw;
  int64_t rows_per_part;
  Partials partials;  // if data is null, the block stores the result itself
};

// Each thread stores its own row. The odd length puts the same value of 32 threads into 32 banks.
struct Shared {
  float sums[kThreads][kTaps * kVecSize + 1];
};

template <class T>
__global__ __launch_bounds__(kThreads) void few_channels_filter_gradient_kernel(const Parameters<T> p) {
  auto& shared = shared_memory<Shared>();
  const ConvGeometry& g = p.geometry;
  const Layout layout = layout_of(g);
  const int row_thread = threadIdx.x / layout.items_block;
  const int item = blockIdx.y * layout.items_block + threadIdx.x % layout.items_block;
  const int k0 = item % layout.chunks * kVecSize, tap0 = item / layout.chunks * kTaps;

  if (row_thread < layout.row_threads && item < layout.items) {
    int offset[kTaps], tap_r[kTaps], tap_s[kTaps];
    RONDO_UNROLL
    for (int t = 0; t < kTaps; ++t) {
      const int tap = min(tap0 + t, g.patch - 1);  // past the last tap, repeats the last; not stored
      const int c = tap % g.c;
      tap_s[t] = tap / g.c % g.s;
      tap_r[t] = tap / g.c / g.s;
      offset[t] = (tap_r[t] * g.w + tap_s[t]) * g.c + c;
    }
    Vec<kVecSize> sums[kTaps];
    RONDO_UNROLL
    for (int t = 0; t < kTaps; ++t) sums[t] = Vec<kVecSize>::zero();

    const int64_t rows = static_cast<int64_t>(g.images) * g.p;
    const int64_t begin = blockIdx.x * p.rows_per_part, end = min(begin + p.rows_per_part, rows);
    for (int64_t row = begin + row_thread; row < end; row += layout.row_threads) {
      const int h0 = static_cast<int>(row % g.p) * g.stride_h - g.pad_h;
      const T* image = p.x + row / g.p * g.h * g.w * g.c;
      const T* dy = p.dy + row * g.q * g.k + k0;
      for (int q = 0; q < g.q; ++q, dy += g.k) {
        const Vec<kVecSize> vec = load_some_values<kVecSize>(dy, g.k - k0, p.dy_aligned);
        const int w0 = q * g.stride_w - g.pad_w;
        const T* from = image + (h0 * g.w + w0) * g.c;
        if (h0 >= 0 && h0 + g.r <= g.h && w0 >= 0 && w0 + g.s <= g.w) {
          RONDO_UNROLL
          for (int t = 0; t < kTaps; ++t) sums[t].add_product(static_cast<float>(from[offset[t]]), vec);
        } else {
          RONDO_UNROLL
          for (int t = 0; t < kTaps; ++t) {
            const int h = h0 + tap_r[t], w = w0 + tap_s[t];
            const bool visible = h >= 0 && h < g.h && w >= 0 && w < g.w;
            if (visible) sums[t].add_product(static_cast<float>(from[offset[t]]), vec);
          }
        }
      }
    }
    RONDO_UNROLL
    for (int t = 0; t < kTaps; ++t) {
      RONDO_UNROLL
      for (int j = 0; j < kVecSize; ++j) shared.sums[threadIdx.x][t * kVecSize + j] = sums[t][j];
    }
  }
  __syncthreads();

  for (int e = threadIdx.x; e < layout.items_block * kTaps * kVecSize; e += kThreads) {
    const int local = e / (kTaps * kVecSize), value = e % (kTaps * kVecSize);
    const int from_item = blockIdx.y * layout.items_block + local;
    const int tap = from_item / layout.chunks * kTaps + value / kVecSize;
    const int k = from_item % layout.chunks * kVecSize + value % kVecSize;
    if (from_item >= layout.items || tap >= g.patch || k >= g.k) continue;
    float sum = 0;
    for (int lane = 0; lane < layout.row_threads; ++lane)
      sum += shared.sums[lane * layout.items_block + local][value];
    if (p.partials.data)
      p.partials.row(blockIdx.x, tap)[k] = sum;
    else
      p.dw[static_cast<int64_t>(k) * g.patch + tap] = sum;
  }
}

}  // namespace

int64_t few_channels_parts(const ConvGeometry& g) {
  constexpr int64_t kRowsPerThread = 2, kMostParts = 128;
  const int64_t rows = static_cast<int64_t>(g.images) * g.p;
  return std::clamp<int64_t>(ceil_div<int64_t>(rows, kRowsPerThread * layout_of(g).row_threads), 1,
                             kMostParts);
}

template <class T>
Status few_channels_filter_gradient(float* dw, const T* dy, const T* x, const ConvGeometry& g, int64_t parts,
                                    float* workspace, cudaStream_t stream) {
  Parameters<T> p = {};
  p.geometry = g;
  p.x = x, p.dy = dy, p.dw = dw;
  p.dy_aligned = rows_are_aligned<kVecSize>(dy, g.k);
  p.rows_per_part = ceil_div<int64_t>(static_cast<int64_t>(g.images) * g.p, parts);
  if (parts > 1) p.partials = {workspace, g.patch, g.k, parts};
  const Layout layout = layout_of(g);
  const LaunchShape shape = {.grid_x = parts,
                             .grid_y = ceil_div(layout.items, layout.items_block),
                             .block_x = kThreads,
                             .shared_bytes = sizeof(Shared)};
  RONDO_RETURN_IF_ERROR(
      launch("few_channels_filter_gradient", shape, stream, few_channels_filter_gradient_kernel<T>, p));
  return parts > 1 ? sum_partials(p.partials, dw, 1, g.patch, Epilogue{}, stream) : Status();
}

template Status few_channels_filter_gradient(float*, const float*, const float*, const ConvGeometry&, int64_t,
                                             float*, cudaStream_t);
template Status few_channels_filter_gradient(float*, const __nv_bfloat16*, const __nv_bfloat16*,
                                             const ConvGeometry&, int64_t, float*, cudaStream_t);
template Status few_channels_filter_gradient(float*, const __half*, const __half*, const ConvGeometry&,
                                             int64_t, float*, cudaStream_t);

}  // namespace rondo
