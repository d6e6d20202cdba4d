// Forward convolution for few channels. Each thread computes 8 neighbouring pixels x 8 out channels: for each
// tap it reads 8 weights from shared memory and 8 values of x, for 64 multiply-adds. x is small and stays in
// L1. y is written once, 8 values at a time. Bound by L1 and shared memory. A thread of the CPU executor has
// more out channels, if its vector registers have room for their sums.
#include <rondo/kernels/conv/direct/few_channels.h>
#include <rondo/kernels/gemm/device_properties.h>
#include <rondo/kernels/conv/conv_epilogue.cuh>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/core/tile_threads.cuh>
#include <rondo/kernels/core/values.cuh>

#include <algorithm>

namespace rondo {
namespace {

// A thread of the executor is a block, and its sums fill half of its vector registers.
constexpr int kThreads = kVectorTiles ? 1 : 128;
constexpr int kPixels = 8;  // per thread, along a row
constexpr int kVecSize =    // out channels per thread, a chunk
    kVectorTiles ? kTileRegisters.count / 2 / kPixels * kTileRegisters.lanes : 8;
constexpr int kLoad = kVectorRegisters.lanes > 4 ? kVecSize : 4;  // out channels per load instruction
constexpr int kMostFloats = 12 << 10;  // largest filter bank in shared memory: 48 KB, which every device has

__host__ __device__ int chunks_of(int channels) { return ceil_div(channels, kVecSize); }

// The out channels of the filter bank in shared memory. A multiple of 8 on every machine, so that all choose
// the same kernel. The last chunk of the last tap may read kBehind floats further.
__host__ __device__ int64_t padded_channels(int64_t channels) { return ceil_div<int64_t>(channels, 8) * 8; }
constexpr int kBehind = kVecSize > 8 ? kVecSize - 8 : 0;
int64_t bank_bytes(const ConvGeometry& g) {
  return (g.patch * padded_channels(g.k) + kBehind) * static_cast<int64_t>(sizeof(float));
}

template <class T>
struct Parameters {
  ConvGeometry geometry;
  const T* x;
  const T* filter;
  T* y;
  Epilogue epilogue;
  int segments;   // segments of kPixels pixels in a row of y
  int64_t items;  // an item is the work of a thread: a segment x a chunk of channels
};

// The filter bank as [tap][part of a chunk][chunk][kLoad out channels], padded with zeros after the last
// channel. Neighbouring threads have neighbouring chunks, so they load neighbouring 16 bytes, without
// bank conflicts.
struct Shared {
  alignas(16) float weights[1];  // actual size: bank_bytes()
};

// Blocks per multiprocessor. With 4 a thread has at most 128 registers, in which 16-bit values, which are
// converted and rounded, do not fit on 10.0.
template <class T>
inline constexpr int kBlocksAtOnce = sizeof(T) == 2 ? 3 : 4;

// adjacent: neighbouring outputs read neighbouring values of x (one channel, stride 1).
template <class T, bool adjacent>
__global__ __launch_bounds__(kThreads,
                             kBlocksAtOnce<T>) void few_channels_forward_kernel(const Parameters<T> p) {
  float* weights = shared_memory<Shared>().weights;
  const ConvGeometry& g = p.geometry;
  const int chunks = chunks_of(g.k), stride = static_cast<int>(padded_channels(g.k));
  const int step = adjacent ? 1 : g.stride_w * g.c;  // distance in x from one output to the next
  for (int e = threadIdx.x; e < g.patch * stride + kBehind; e += kThreads) {
    const int tap = e / stride, place = e % stride;
    const int part = place / (chunks * kLoad), in_part = place % (chunks * kLoad);
    const int k = in_part / kLoad * kVecSize + part * kLoad + in_part % kLoad;
    const bool inside = k < g.k && (kBehind == 0 || tap < g.patch);
    weights[e] = inside ? static_cast<float>(p.filter[k * g.patch + tap]) : 0;
  }
  __syncthreads();

  for (int64_t item = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; item < p.items;
       item += static_cast<int64_t>(gridDim.x) * kThreads) {
    const int k = static_cast<int>(item % chunks) * kVecSize;
    const int64_t segment = item / chunks, row = segment / p.segments;
    const int q0 = static_cast<int>(segment % p.segments) * kPixels;
    const int h0 = static_cast<int>(row % g.p) * g.stride_h - g.pad_h, w0 = q0 * g.stride_w - g.pad_w;
    const T* image = p.x + row / g.p * g.h * g.w * g.c;

    Vec<kVecSize> sums[kPixels];
    RONDO_UNROLL
    for (int i = 0; i < kPixels; ++i) sums[i] = Vec<kVecSize>::zero();
    const int w_last = w0 + (kPixels - 1) * g.stride_w + g.s - 1;  // last column of the last pixel
    const bool inside = h0 >= 0 && h0 + g.r <= g.h && w0 >= 0 && w_last < g.w;
    const float* weight = weights + k / kVecSize * kLoad;
    for (int r = 0; r < g.r; ++r) {
      for (int s = 0; s < g.s; ++s) {
        for (int c = 0; c < g.c; ++c, weight += stride) {
          Vec<kVecSize> vec;
          if constexpr (kLoad == kVecSize) {
            vec = Vec<kVecSize>::load(weight);
          } else {
            RONDO_UNROLL
            for (int j = 0; j < kVecSize; j += kLoad) vec.set_part(j, Vec<kLoad>::load(weight + j * chunks));
          }
          if (inside) {
            const T* from = image + ((h0 + r) * g.w + w0 + s) * g.c + c;
            RONDO_UNROLL
            for (int i = 0; i < kPixels; ++i) sums[i].add_product(static_cast<float>(from[i * step]), vec);
          } else {
            const int h = h0 + r;
            RONDO_UNROLL
            for (int i = 0; i < kPixels; ++i) {
              const int w = w0 + s + i * g.stride_w;
              const bool visible = h >= 0 && h < g.h && w >= 0 && w < g.w;
              if (visible) sums[i].add_product(static_cast<float>(image[(h * g.w + w) * g.c + c]), vec);
            }
          }
        }
      }
    }
    RONDO_UNROLL
    for (int i = 0; i < kPixels; ++i)
      if (q0 + i < g.q) p.epilogue.store_row(p.y + (row * g.q + q0 + i) * g.k, k, g.k, sums[i]);
  }
}

}  // namespace

bool has_few_channels(const ConvGeometry& g) {
  return g.c <= 4 && g.dilation_h == 1 && g.dilation_w == 1 && g.patch * padded_channels(g.k) <= kMostFloats;
}

template <class T>
Status few_channels_forward(T* y, const T* x, const T* filter, const ConvEpilogue<T>& epilogue,
                            const ConvGeometry& g, cudaStream_t stream) {
  Parameters<T> p = {};
  p.geometry = g;
  p.x = x, p.filter = filter, p.y = y;
  p.epilogue = tile_epilogue<kVecSize>(epilogue, y, g.k);
  p.segments = ceil_div(g.q, kPixels);
  p.items = static_cast<int64_t>(g.images) * g.p * p.segments * chunks_of(g.k);
  // Every block first transposes the filter bank, so the launch uses only as many blocks as keep the device
  // busy.
  DeviceProperties device;
  RONDO_RETURN_IF_ERROR(device_properties(&device));
  const LaunchShape shape = {.grid_x = std::min<int64_t>(ceil_div<int64_t>(p.items, kThreads),
                                                         8 * std::max(1, device.multiprocessors)),
                             .block_x = kThreads,
                             .shared_bytes = std::max<int64_t>(bank_bytes(g), sizeof(Shared))};
  const bool adjacent = g.stride_w * g.c == 1;
  return launch("few_channels_forward", shape, stream,
                adjacent ? few_channels_forward_kernel<T, true> : few_channels_forward_kernel<T, false>, p);
}

#define RONDO_FEW_CHANNELS_FORWARD(T)                                                                       \
  template Status few_channels_forward(T*, const T*, const T*, const ConvEpilogue<T>&, const ConvGeometry&, \
                                       cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_FEW_CHANNELS_FORWARD)
#undef RONDO_FEW_CHANNELS_FORWARD

}  // namespace rondo
