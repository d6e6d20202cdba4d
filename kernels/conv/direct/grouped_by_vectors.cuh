// Convolution in groups by threads of the CPU executor: a vector of channels of one group, or of neighbouring
// groups with one channel each (depthwise).
//
// A block is one thread, which computes rows of the result. For each pixel it lists the taps that are inside
// of the image, and then adds them for one vector of channels after another. Pixels beside each other that
// have all taps of a row share the list and the loads of the weights. Each sum has the order of
// grouped_kernel().
#pragma once

#include <rondo/kernels/gemm/device_properties.h>
#include <rondo/kernels/conv/direct/grouped_pixels.cuh>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/core/tile_threads.cuh>

#include <algorithm>

namespace rondo::grouped {

// What a pixel reads through a tap: a distance from the image of the source, and the first of its weights.
struct VisibleTap {
  int64_t from;
  int weights;
};

// Floats of the weights of a vector of channels, and of the list of taps.
inline int64_t weights_of_vector(const Channels& channels, const ConvGeometry& g, int lanes) {
  return saturating_product({g.r, g.s, channels.sources, lanes});
}
__host__ __device__ inline int64_t list_floats(const ConvGeometry& g) {
  constexpr int64_t kFloats = sizeof(VisibleTap) / sizeof(float);
  return ceil_div<int64_t>(int64_t{g.r} * g.s * kFloats, 16) * 16;
}

struct VectorShared {
  alignas(64) float values[1];  // actual size: the list, and the weights of the block's vectors
};

template <class T>
struct VectorParameters {
  Parameters<T> common;
  int vectors;          // of the channels of a block
  int64_t rows, bands;  // of the result, over all images; a block computes a band
};

// The sums of N channels, from `channel` on, of kPixels results whose sources are `step` elements apart.
template <int N, int kPixels, InChannels kIn, class T>
__device__ __forceinline__ void add_taps(Vec<N> (&sums)[kPixels], const T* image, const VisibleTap* taps,
                                         int count, int64_t step, int sources, const float* weights) {
  RONDO_UNROLL
  for (int i = 0; i < kPixels; ++i) sums[i] = Vec<N>::zero();
  for (int tap = 0; tap < count; ++tap) {
    const T* const from = image + taps[tap].from;
    const float* of_tap = weights + taps[tap].weights * N;
    for (int source = 0; source < sources; ++source, of_tap += N) {
      const auto weight = Vec<N>::load(of_tap);
      RONDO_UNROLL
      for (int i = 0; i < kPixels; ++i)
        if constexpr (kIn == InChannels::same)
          sums[i].add_product(static_cast<float>(from[i * step + source]), weight);
        else
          direct::add_products(sums[i], direct::load_channels<N>(from + i * step), weight);
    }
  }
}

template <int N, class T, ConvOperation operation, InChannels kIn>
__global__ void grouped_by_vectors_kernel(const VectorParameters<T> parameters) {
  // Enough independent sums for one multiply-add after another.
  constexpr int kPixels = N > kTileRegisters.lanes ? 4 : 8;
  const Parameters<T>& p = parameters.common;
  const ConvGeometry& g = p.geometry;
  const Channels channels = channels_of<operation>(g);
  const Side rows = rows_of<operation>(g), columns = columns_of<operation>(g);
  auto* const taps = reinterpret_cast<VisibleTap*>(shared_memory<VectorShared>().values);
  float* const all_weights = shared_memory<VectorShared>().values + list_floats(g);
  const int per_vector = g.r * g.s * channels.sources * N;

  const int first_vector = static_cast<int>(blockIdx.x % p.chunks) * parameters.vectors;
  const int vectors = min(parameters.vectors, ceil_div(channels.results, N) - first_vector);
  // The last vector of a depthwise convolution is a full one, too, and begins earlier.
  const auto channel_of = [&](int vector) { return min((first_vector + vector) * N, channels.results - N); };
  for (int vector = 0; vector < vectors; ++vector)
    for (int position = 0; position < g.r * g.s * channels.sources; ++position)
      for (int j = 0; j < N; ++j)
        all_weights[vector * per_vector + position * N + j] = weight<operation>(
            p, channels, channel_of(vector) + j, position / channels.sources, position % channels.sources);

  const int64_t band = blockIdx.x / p.chunks;
  const int64_t end = (band + 1) * parameters.rows / parameters.bands;
  for (int64_t row = band * parameters.rows / parameters.bands; row < end; ++row) {
    const int y = static_cast<int>(row % rows.results);
    const T* const image = p.from + row / rows.results * rows.sources * columns.sources * channels.from;
    // Returns the number of taps that pixel x reads.
    const auto list_taps = [&](int x) {
      int count = 0;
      for (int r = 0; r < g.r; ++r) {
        const int h = source_of<operation>(rows, y, r);
        for (int s = 0; s < g.s && h >= 0; ++s) {
          const int w = source_of<operation>(columns, x, s);
          if (w >= 0)
            taps[count++] = {(static_cast<int64_t>(h) * columns.sources + w) * channels.from,
                             (r * g.s + s) * channels.sources};
        }
      }
      return count;
    };
    const auto has_all_columns = [&](int x) {
      return source_of<operation>(columns, x, 0) >= 0 && source_of<operation>(columns, x, g.s - 1) >= 0;
    };
    const bool forward = operation == ConvOperation::forward;
    const auto compute = [&]<int kAtOnce>(int x) {
      const int count = list_taps(x);
      const int64_t step = int64_t{forward ? columns.stride : 1} * channels.from;
      for (int vector = 0; vector < vectors; ++vector) {
        const int channel = channel_of(vector), begin = (first_vector + vector) * N;
        const T* from = image;
        if constexpr (kIn == InChannels::same)
          from += channel / channels.in_group * channels.sources;
        else
          from += channel;
        Vec<N> sums[kAtOnce];
        add_taps<N, kAtOnce, kIn>(sums, from, taps, count, step, channels.sources,
                                  all_weights + vector * per_vector);
        for (int i = 0; i < kAtOnce; ++i) {
          T* const to = p.to + (row * columns.results + x + i) * channels.results;
          if (begin == channel) {
            p.epilogue.store_row(to, channel, channels.results, sums[i]);
          } else {
            alignas(64) float values[2 * N] = {};
            sums[i].store(values);
            p.epilogue.store_row(to, begin, channels.results,
                                 Vec<N>::load_unaligned(values + begin - channel));
          }
        }
      }
    };
    for (int x = 0; x < columns.results;) {
      if ((forward || columns.stride == 1) && x + kPixels <= columns.results && has_all_columns(x) &&
          has_all_columns(x + kPixels - 1)) {
        compute.template operator()<kPixels>(x);
        x += kPixels;
      } else {
        compute.template operator()<1>(x);
        ++x;
      }
    }
  }
}

constexpr int kMostLanes = 2 * kTileRegisters.lanes;

// The channels of a vector: of one group, or of groups with one channel; 0 if there is no such vector.
inline int lanes_of_group(const Channels& channels) {
  const bool depthwise = channels.in_group == 1 && channels.sources == 1;
  return direct::widest_vector<kMostLanes>(
      [&](int lanes) { return depthwise ? lanes <= channels.results : channels.in_group % lanes == 0; });
}

constexpr int64_t kMostWeights = 16 << 10;  // floats of the weights of a block, if it has several vectors

inline bool grouped_vectors_fit(const Channels& channels, const ConvGeometry& g) {
  constexpr int64_t kMostFloats = 32 << 10;  // of a block
  const int lanes = lanes_of_group(channels);
  return channels.in_group > 0 && channels.sources > 0 && lanes > 0 &&
         weights_of_vector(channels, g, lanes) < kMostFloats - list_floats(g);
}

template <ConvOperation operation, class T>
Status launch_grouped_by_vectors(const char* name, const Parameters<T>& common, cudaStream_t stream) {
  const ConvGeometry& g = common.geometry;
  const Channels channels = channels_of<operation>(g);
  DeviceProperties device;
  RONDO_RETURN_IF_ERROR(device_properties(&device));
  const int lanes = lanes_of_group(channels), vectors = ceil_div(channels.results, lanes);
  const int64_t per_vector = weights_of_vector(channels, g, lanes);
  VectorParameters<T> p = {};
  p.common = common;
  p.vectors = static_cast<int>(std::clamp<int64_t>(kMostWeights / per_vector, 1, vectors));
  p.common.chunks = ceil_div(vectors, p.vectors);
  p.rows = static_cast<int64_t>(g.images) * rows_of<operation>(g).results;
  p.bands =
      std::clamp<int64_t>(4 * device.multiprocessors / p.common.chunks, 1, std::max<int64_t>(p.rows, 1));
  const LaunchShape shape = {
      .grid_x = common.pixels > 0 ? p.common.chunks * p.bands : 0,
      .shared_bytes = static_cast<int64_t>(sizeof(float)) * (list_floats(g) + p.vectors * per_vector)};
  return direct::with_vector<kMostLanes>(lanes, [&]<int kLanes>() {
    const auto kernel = channels.in_group == 1
                            ? grouped_by_vectors_kernel<kLanes, T, operation, InChannels::adjacent>
                            : grouped_by_vectors_kernel<kLanes, T, operation, InChannels::same>;
    return launch(name, shape, stream, kernel, p);
  });
}

}  // namespace rondo::grouped
