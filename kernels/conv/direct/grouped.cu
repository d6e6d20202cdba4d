// Forward convolution and data gradient in groups. Each thread computes 8 adjacent channels of 4 pixels: for
// each tap and source channel it reads 8 weights from shared memory, and from each pixel one value, if its 8
// channels are of one group, or 8. The pixels of adjacent threads are adjacent, so L1 has most of what they
// read. A depthwise convolution is bound by the bytes of x and y.
//
// The weights of a block's 32 channels pass through shared memory in pieces, [tap and source][channel].
#include <rondo/kernels/conv/direct/grouped.h>
#include <rondo/kernels/conv/direct/grouped_by_vectors.cuh>
#include <rondo/kernels/conv/direct/grouped_pixels.cuh>

namespace rondo {
namespace {

using namespace grouped;

constexpr int kThreads = 128;
constexpr int kVecSize = direct::kOutChannels;  // channels per thread
constexpr int kChannels = 32;                   // per block
constexpr int kPixels = 4;                      // per thread
constexpr int kChannelThreads = kChannels / kVecSize, kPixelThreads = kThreads / kChannelThreads;
constexpr int kPiece = 128;  // taps and sources of a piece of the weights

struct Shared {
  alignas(16) float weights[kPiece][kChannels];
};

template <class T, ConvOperation operation, InChannels kIn>
__global__ __launch_bounds__(kThreads) void grouped_kernel(const Parameters<T> p) {
  auto& shared = shared_memory<Shared>();
  const ConvGeometry& g = p.geometry;
  const Channels channels = channels_of<operation>(g);
  const Side rows = rows_of<operation>(g), columns = columns_of<operation>(g);
  const int channel0 = static_cast<int>(blockIdx.x % p.chunks) * kChannels;
  const int in_block = threadIdx.x % kChannelThreads * kVecSize, channel = channel0 + in_block;
  const int64_t pixel0 =
      static_cast<int64_t>(blockIdx.x / p.chunks) * (kPixelThreads * kPixels) + threadIdx.x / kChannelThreads;

  int y[kPixels], x[kPixels];  // y: -1 for none
  const T* image[kPixels];
  RONDO_UNROLL
  for (int i = 0; i < kPixels; ++i) {
    const int64_t pixel = pixel0 + i * kPixelThreads;
    const bool exists = pixel < p.pixels && channel < channels.results;
    x[i] = static_cast<int>(pixel % columns.results);
    y[i] = exists ? static_cast<int>(pixel / columns.results % rows.results) : -1;
    image[i] =
        p.from + pixel / columns.results / rows.results * rows.sources * columns.sources * channels.from;
    if (kIn == InChannels::same && exists) image[i] += channel / channels.in_group * channels.sources;
  }
  Vec<kVecSize> sums[kPixels];
  RONDO_UNROLL
  for (int i = 0; i < kPixels; ++i) sums[i] = Vec<kVecSize>::zero();

  const int length = g.r * g.s * channels.sources;
  const T* from[kPixels] = {};  // what the tap reads; null: outside of the image
  for (int begin = 0; begin < length; begin += kPiece) {
    const int end = min(begin + kPiece, length);
    if (begin > 0) __syncthreads();
    for (int e = threadIdx.x; e < (end - begin) * kChannels; e += kThreads) {
      const int position = begin + e / kChannels, of = channel0 + e % kChannels;
      shared.weights[e / kChannels][e % kChannels] =
          of < channels.results
              ? weight<operation>(p, channels, of, position / channels.sources, position % channels.sources)
              : 0;
    }
    __syncthreads();
    int tap = begin / channels.sources, source = begin % channels.sources;
    for (int position = begin; position < end; ++position) {
      if (source == 0 || position == begin) {
        const int r = tap / g.s, s = tap % g.s;
        RONDO_UNROLL
        for (int i = 0; i < kPixels; ++i) {
          const int h = y[i] < 0 ? -1 : source_of<operation>(rows, y[i], r);
          const int w = source_of<operation>(columns, x[i], s);
          from[i] = h < 0 || w < 0
                        ? nullptr
                        : image[i] + (static_cast<int64_t>(h) * columns.sources + w) * channels.from;
        }
      }
      const auto weights = Vec<kVecSize>::load(&shared.weights[position - begin][in_block]);
      RONDO_UNROLL
      for (int i = 0; i < kPixels; ++i) {
        if (!from[i]) continue;
        if constexpr (kIn == InChannels::same)
          sums[i].add_product(static_cast<float>(from[i][source]), weights);
        else
          direct::add_products(
              sums[i],
              direct::source_values<kIn, kVecSize>(from[i] + source, channel, channels.results,
                                                   channels.in_group, channels.sources, p.aligned),
              weights);
      }
      if (++source == channels.sources) source = 0, ++tap;
    }
  }
  RONDO_UNROLL
  for (int i = 0; i < kPixels; ++i)
    if (y[i] >= 0)
      p.epilogue.store_row(p.to + (pixel0 + i * kPixelThreads) * channels.results, channel, channels.results,
                           sums[i]);
}

template <ConvOperation operation, class T>
Status launch_grouped(const char* name, T* to, const T* from, const T* filter, const Epilogue& epilogue,
                      const ConvGeometry& g, cudaStream_t stream) {
  const Channels channels = channels_of<operation>(g);
  Parameters<T> p = {};
  p.geometry = g;
  p.from = from, p.filter = filter, p.to = to;
  p.aligned = rows_are_aligned<kVecSize>(from, channels.from);
  p.chunks = ceil_div(channels.results, kChannels);
  p.pixels =
      static_cast<int64_t>(g.images) * rows_of<operation>(g).results * columns_of<operation>(g).results;
  p.epilogue = epilogue;
  if constexpr (kVectorTiles) {
    if (use_vector_threads() && grouped_vectors_fit(channels, g))
      return launch_grouped_by_vectors<operation>(name, p, stream);
  }
  LaunchShape shape;
  shape.grid_x = ceil_div<int64_t>(p.pixels, kPixelThreads * kPixels) * p.chunks;
  shape.block_x = kThreads;
  shape.shared_bytes = sizeof(Shared);
  if (channels.in_group % kVecSize == 0)
    return launch(name, shape, stream, grouped_kernel<T, operation, InChannels::same>, p);
  if (channels.in_group == 1 && channels.sources == 1)
    return launch(name, shape, stream, grouped_kernel<T, operation, InChannels::adjacent>, p);
  return launch(name, shape, stream, grouped_kernel<T, operation, InChannels::any>, p);
}

}  // namespace

template <class T>
Status grouped_forward(T* y, const T* x, const T* filter, const ConvEpilogue<T>& epilogue,
                       const ConvGeometry& g, cudaStream_t stream) {
  return launch_grouped<ConvOperation::forward>("grouped_forward", y, x, filter,
                                                tile_epilogue<kVecSize>(epilogue, y, g.k), g, stream);
}

template <class T>
Status grouped_data_gradient(T* dx, const T* dy, const T* filter, const ConvEpilogue<T>& epilogue,
                             const ConvGeometry& g, cudaStream_t stream) {
  return launch_grouped<ConvOperation::data_gradient>("grouped_data_gradient", dx, dy, filter,
                                                      tile_epilogue<kVecSize>(epilogue, dx, g.c), g, stream);
}

#define RONDO_GROUPED(T)                                                                                     \
  template Status grouped_forward(T*, const T*, const T*, const ConvEpilogue<T>&, const ConvGeometry&,       \
                                  cudaStream_t);                                                             \
  template Status grouped_data_gradient(T*, const T*, const T*, const ConvEpilogue<T>&, const ConvGeometry&, \
                                        cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_GROUPED)
#undef RONDO_GROUPED

}  // namespace rondo
