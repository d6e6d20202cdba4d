// The sum of a filter gradient by multiply-adds, for kernels of few channels and of groups.
//
// Each thread accumulates 9 taps x 8 out channels in registers and iterates over rows of dy. For each pixel
// it reads 8 values of dy and 9 of x, or 72 of x if each out channel has its own input channel (floats: 4 and
// 36). The threads of a block that share results (its *row threads*) process different rows, and their sums
// are added in shared memory in a fixed order. sum_partials() then adds the blocks. The threads of the first
// taps also add dy itself: the bias gradient.
//
// One thread of the CPU executor computes all results of a block, with vectors of more out channels, in the
// same order of additions.
#pragma once

#include <rondo/kernels/conv/conv_epilogue.cuh>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/core/tile_threads.cuh>
#include <rondo/kernels/core/values.cuh>
#include <rondo/kernels/core/vec.cuh>
#include <rondo/kernels/gemm/partial_sums.cuh>

#include <algorithm>

namespace rondo::direct {

constexpr int kGradientThreads = 128;
constexpr int kTaps = 9;         // per thread: of the filter's r * s * (in channels of a group)
constexpr int kOutChannels = 8;  // per thread, at most

// The layout of threads over the results, N out channels for each. It depends only on the geometry.
struct GradientLayout {
  int chunks;       // number of chunks of N out channels
  int items;        // chunks x groups of kTaps taps; a thread computes one item
  int items_block;  // items per block
  int row_threads;
};
template <int N>
__host__ __device__ inline GradientLayout gradient_layout(const ConvGeometry& g) {
  GradientLayout layout;
  layout.chunks = ceil_div(g.k, N);
  layout.items = layout.chunks * ceil_div(g.patch, kTaps);
  layout.items_block = layout.items < kGradientThreads ? layout.items : kGradientThreads;
  layout.row_threads = kGradientThreads / (layout.items_block > 0 ? layout.items_block : 1);
  return layout;
}

// The first `count` of N elements as floats; the others are 0. `aligned`: `from` is a multiple of 16 bytes.
template <int N, class T>
__device__ __forceinline__ Vec<N> load_some_values(const T* from, int64_t count, bool aligned) {
  static_assert(N * sizeof(T) % 16 == 0);
  if constexpr (std::is_same_v<T, float>) {
    return aligned && count >= N ? Vec<N>::load(from) : Vec<N>::load_some(from, count);
  } else {
    Vec<N> vec;
    if (aligned && count >= N) {
      const auto pack = load_pack<N>(from);
      RONDO_UNROLL
      for (int j = 0; j < N; ++j) vec.set(j, static_cast<float>(pack.v[j]));
    } else {
      RONDO_UNROLL
      for (int j = 0; j < N; ++j) vec.set(j, j < count ? static_cast<float>(from[j]) : 0.0f);
    }
    return vec;
  }
}

// The first `count` of N elements at any alignment, as floats; the others are 0.
template <int N, class T>
__device__ __forceinline__ Vec<N> load_channels(const T* from, int count = N) {
  if constexpr (std::is_same_v<T, float>) {
    return Vec<N>::load_some(from, count);
  } else {
    float values[N] = {};
    for (int j = 0; j < min(N, count); ++j) values[j] = static_cast<float>(from[j]);
    return Vec<N>::load_unaligned(values);
  }
}

template <class T>
struct GradientParameters {
  ConvGeometry geometry;
  const T* x;
  const T* dy;
  bool dy_aligned, x_aligned;  // pixels begin at multiples of 16 bytes
  FilterGradient to;
  int64_t rows_per_part;
  Partials partials, bias_partials;  // if data is null, the block stores the result itself
};

// Each thread stores its own row. The odd length puts the same value of 32 threads into 32 banks.
template <bool kBias>
struct GradientShared {
  float sums[kGradientThreads][(kBias ? kTaps + 1 : kTaps) * kOutChannels + 1];
};

// The input channels of adjacent out channels of a thread: the same one, as many adjacent ones (depthwise),
// or any.
enum class InChannels { same, adjacent, any };

inline InChannels in_channels_of(const ConvGeometry& g) {
  if (g.groups == 1 || g.k / g.groups % kOutChannels == 0) return InChannels::same;
  return g.groups == g.k && g.groups == g.c ? InChannels::adjacent : InChannels::any;
}

// sum += a * b, element by element.
template <int N>
__device__ __forceinline__ void add_products(Vec<N>& sum, const Vec<N>& a, const Vec<N>& b) {
#ifdef __SIMT__
  simt::count_multiply_adds(N);
  RONDO_UNROLL
  for (int j = 0; j < Vec<N>::kRegisters; ++j) sum.v[j] += a.v[j] * b.v[j];
#else
  RONDO_UNROLL
  for (int j = 0; j < N; ++j) sum.v[j] += a.v[j] * b.v[j];
#endif
}

// For each of N adjacent out channels, from `channel` on, the value of its input channel at one pixel. `from`
// is the element that the out channels of the first group read. A group has `in_group` out channels and
// `sources` input channels.
template <InChannels kIn, int N, class T>
__device__ __forceinline__ Vec<N> source_values(const T* from, int channel, int channels, int in_group,
                                                int sources, bool aligned) {
  if constexpr (kIn == InChannels::adjacent) {
    return load_some_values<N>(from + channel, channels - channel, aligned);
  } else {
    Vec<N> values;
    RONDO_UNROLL
    for (int j = 0; j < N; ++j)
      values.set(
          j, channel + j < channels ? static_cast<float>(from[(channel + j) / in_group * sources]) : 0.0f);
    return values;
  }
}

// The out channels of a thread. If each has its own input channel, 8 of float would need more registers than
// a thread can have.
template <InChannels kIn, class T>
inline constexpr int kChannelsOfThread = kIn == InChannels::same || sizeof(T) == 2 ? kOutChannels : 4;

// kBias: with the bias gradient. Without it, a depthwise one of floats has 128 registers instead of 146.
template <InChannels kIn, bool kBias, class T>
__device__ __forceinline__ void sum_filter_gradient(const GradientParameters<T>& p) {
  constexpr int N = kChannelsOfThread<kIn, T>;
  auto& shared = shared_memory<GradientShared<kBias>>();
  const ConvGeometry& g = p.geometry;
  const GradientLayout layout = gradient_layout<N>(g);
  const int row_thread = threadIdx.x / layout.items_block;
  const int item = blockIdx.y * layout.items_block + threadIdx.x % layout.items_block;
  const int k0 = item % layout.chunks * N, tap0 = item / layout.chunks * kTaps;
  const int in_group = g.k / g.groups, sources = g.c / g.groups;

  if (row_thread < layout.row_threads && item < layout.items) {
    int offset[kTaps], tap_h[kTaps], tap_w[kTaps];
    RONDO_UNROLL
    for (int t = 0; t < kTaps; ++t) {
      const int tap = min(tap0 + t, g.patch - 1);  // past the last tap, repeats the last; not stored
      const int c = tap % sources;
      tap_w[t] = tap / sources % g.s * g.dilation_w;
      tap_h[t] = tap / sources / g.s * g.dilation_h;
      offset[t] = (tap_h[t] * g.w + tap_w[t]) * g.c + c;
    }
    const int last_h = (g.r - 1) * g.dilation_h, last_w = (g.s - 1) * g.dilation_w;
    Vec<N> sums[kTaps], of_bias = Vec<N>::zero();
    RONDO_UNROLL
    for (int t = 0; t < kTaps; ++t) sums[t] = Vec<N>::zero();
    const bool sums_bias = kBias && tap0 == 0;

    const int64_t rows = static_cast<int64_t>(g.images) * g.p;
    const int64_t begin = blockIdx.x * p.rows_per_part, end = min(begin + p.rows_per_part, rows);
    for (int64_t row = begin + row_thread; row < end; row += layout.row_threads) {
      const int h0 = static_cast<int>(row % g.p) * g.stride_h - g.pad_h;
      const T* image = p.x + row / g.p * g.h * g.w * g.c;
      if constexpr (kIn == InChannels::same) image += k0 / in_group * sources;
      const T* dy = p.dy + row * g.q * g.k + k0;
      for (int q = 0; q < g.q; ++q, dy += g.k) {
        const Vec<N> vec = load_some_values<N>(dy, g.k - k0, p.dy_aligned);
        if (sums_bias) of_bias.add(vec);
        const int w0 = q * g.stride_w - g.pad_w;
        const T* from = image + (static_cast<int64_t>(h0) * g.w + w0) * g.c;
        const bool inside = h0 >= 0 && h0 + last_h < g.h && w0 >= 0 && w0 + last_w < g.w;
        const auto add = [&](int t) {
          if constexpr (kIn == InChannels::same)
            sums[t].add_product(static_cast<float>(from[offset[t]]), vec);
          else
            add_products(sums[t],
                         source_values<kIn, N>(from + offset[t], k0, g.k, in_group, sources, p.x_aligned),
                         vec);
        };
        if (inside) {
          RONDO_UNROLL
          for (int t = 0; t < kTaps; ++t) add(t);
        } else {
          RONDO_UNROLL
          for (int t = 0; t < kTaps; ++t) {
            const int h = h0 + tap_h[t], w = w0 + tap_w[t];
            const bool visible = h >= 0 && h < g.h && w >= 0 && w < g.w;
            if (visible) add(t);
          }
        }
      }
    }
    RONDO_UNROLL
    for (int t = 0; t < kTaps; ++t) {
      RONDO_UNROLL
      for (int j = 0; j < N; ++j) shared.sums[threadIdx.x][t * N + j] = sums[t][j];
    }
    if constexpr (kBias) {
      RONDO_UNROLL
      for (int j = 0; j < N; ++j) shared.sums[threadIdx.x][kTaps * N + j] = of_bias[j];
    }
  }
  __syncthreads();

  constexpr int kValues = (kBias ? kTaps + 1 : kTaps) * N;
  for (int e = threadIdx.x; e < layout.items_block * kValues; e += kGradientThreads) {
    const int local = e / kValues, value = e % kValues;
    const int from_item = blockIdx.y * layout.items_block + local;
    const bool is_bias = kBias && value / N == kTaps;
    const int tap = from_item / layout.chunks * kTaps + value / N;
    const int k = from_item % layout.chunks * N + value % N;
    if (from_item >= layout.items || k >= g.k) continue;
    if (is_bias ? from_item >= layout.chunks : tap >= g.patch) continue;
    float sum = 0;
    for (int lane = 0; lane < layout.row_threads; ++lane)
      sum += shared.sums[lane * layout.items_block + local][value];
    if (p.partials.data)
      (is_bias ? p.bias_partials.row(blockIdx.x, 0) : p.partials.row(blockIdx.x, tap))[k] = sum;
    else
      store_filter_gradient(is_bias ? p.to.db + k : p.to.dw + static_cast<int64_t>(k) * g.patch + tap, sum,
                            p.to.beta);
  }
}

// For VectorThreads: the widest vector that fits(), of kMost channels, a half, a quarter, ..., at least 4; or
// 0 if none does.
template <int kMost, class Fits>
int widest_vector(const Fits& fits) {
  for (int channels = kMost; channels >= 4; channels /= 2)
    if (fits(channels)) return channels;
  return 0;
}
// Returns run.template operator()<channels>() for what widest_vector<kMost>() returned, unless it is 0.
template <int kMost, class Run>
Status with_vector(int channels, const Run& run) {
  if constexpr (kMost >= 4) {
    if (channels == kMost) return run.template operator()<kMost>();
    return with_vector<kMost / 2>(channels, run);
  }
  return {};
}

// For VectorThreads: the most out channels of a vector. There are registers for the sums of kTaps taps, the
// values of dy and those of x.
constexpr int kVectorChannels = kTileRegisters.count / (kTaps + 4) * kTileRegisters.lanes;

// The out channels of a vector: of one group, or of groups with one channel each; 0 if there is no such
// vector.
inline int vector_channels(const ConvGeometry& g) {
  const InChannels kind = in_channels_of(g);
  if (g.groups == 1) return kVectorChannels;
  if (kind == InChannels::any) return 0;
  return widest_vector<kVectorChannels>([&](int channels) {
    return kind == InChannels::adjacent ? channels <= g.k : g.k / g.groups % channels == 0;
  });
}

// sum += what the channels of `dy` read * dy.
template <InChannels kIn, int N, class T>
__device__ __forceinline__ void add_tap(Vec<N>& sum, const T* from, const Vec<N>& dy) {
  if constexpr (kIn == InChannels::same)
    sum.add_product(static_cast<float>(*from), dy);
  else
    add_products(sum, load_channels<N>(from), dy);
}

// sum_filter_gradient() of a block by one thread, for N out channels from k0 on and the taps from tap0 on.
// What would be a thread there is a turn of the outer loop here. Results of channels before `first_channel`
// are not stored.
template <int N, InChannels kIn, bool kBias, class T>
__device__ __forceinline__ void sum_filter_gradient_by_vectors(const GradientParameters<T>& p, int k0,
                                                               int first_channel, int tap0) {
  const ConvGeometry& g = p.geometry;
  const int in_group = g.k / g.groups, sources = g.c / g.groups;
  int offset[kTaps], tap_h[kTaps], tap_w[kTaps];
  for (int t = 0; t < kTaps; ++t) {
    const int tap = min(tap0 + t, g.patch - 1);  // past the last tap, repeats the last; not stored
    tap_w[t] = tap / sources % g.s * g.dilation_w;
    tap_h[t] = tap / sources / g.s * g.dilation_h;
    offset[t] = (tap_h[t] * g.w + tap_w[t]) * g.c + tap % sources +
                (kIn == InChannels::same ? k0 / in_group * sources : k0);
  }
  const int last_h = (g.r - 1) * g.dilation_h, last_w = (g.s - 1) * g.dilation_w, channels = g.k - k0;
  const int row_threads = gradient_layout<kChannelsOfThread<kIn, T>>(g).row_threads;
  const int64_t rows = static_cast<int64_t>(g.images) * g.p;
  const int64_t begin = blockIdx.x * p.rows_per_part, end = min(begin + p.rows_per_part, rows);
  const T* const dy_end = p.dy + rows * g.q * g.k;
  const bool sums_bias = kBias && tap0 == 0;
  Vec<N> totals[kTaps + 1];
  for (Vec<N>& total : totals) total = Vec<N>::zero();
  for (int64_t first = begin; first < begin + row_threads; ++first) {
    Vec<N> sums[kTaps], of_bias = Vec<N>::zero();
    RONDO_UNROLL
    for (int t = 0; t < kTaps; ++t) sums[t] = Vec<N>::zero();
    for (int64_t row = first; row < end; row += row_threads) {
      const int h0 = static_cast<int>(row % g.p) * g.stride_h - g.pad_h;
      const T* const image = p.x + row / g.p * g.h * g.w * g.c;
      const T* dy = p.dy + row * g.q * g.k + k0;
      const bool rows_inside = h0 >= 0 && h0 + last_h < g.h;
      for (int q = 0; q < g.q; ++q, dy += g.k) {
        // Behind the last channel are those of the next pixel, whose sums are not stored.
        const Vec<N> vec = load_channels<N>(dy, dy + N <= dy_end ? N : channels);
        if (sums_bias) of_bias.add(vec);
        const int w0 = q * g.stride_w - g.pad_w;
        const T* const from = image + (static_cast<int64_t>(h0) * g.w + w0) * g.c;
        if (rows_inside && w0 >= 0 && w0 + last_w < g.w) {
          RONDO_UNROLL
          for (int t = 0; t < kTaps; ++t) add_tap<kIn>(sums[t], from + offset[t], vec);
        } else {
          RONDO_UNROLL
          for (int t = 0; t < kTaps; ++t) {
            const int h = h0 + tap_h[t], w = w0 + tap_w[t];
            const bool visible = h >= 0 && h < g.h && w >= 0 && w < g.w;
            if (visible) add_tap<kIn>(sums[t], from + offset[t], vec);
          }
        }
      }
    }
    for (int t = 0; t < kTaps; ++t) totals[t].add(sums[t]);
    totals[kTaps].add(of_bias);
  }
  for (int t = 0; t < (sums_bias ? kTaps + 1 : kTaps); ++t) {
    const bool is_bias = t == kTaps;
    const int tap = tap0 + t;
    if (!is_bias && tap >= g.patch) continue;
    for (int k = first_channel; k < min(k0 + N, g.k); ++k) {
      const float sum = totals[t][k - k0];
      if (p.partials.data)
        (is_bias ? p.bias_partials.row(blockIdx.x, 0) : p.partials.row(blockIdx.x, tap))[k] = sum;
      else
        store_filter_gradient(is_bias ? p.to.db + k : p.to.dw + static_cast<int64_t>(k) * g.patch + tap, sum,
                              p.to.beta);
    }
  }
}

template <int N, InChannels kIn, bool kBias, class T>
__device__ __forceinline__ void sum_filter_gradient_by_vectors(const GradientParameters<T>& p) {
  const ConvGeometry& g = p.geometry;
  for (int tap0 = 0; tap0 < g.patch; tap0 += kTaps)
    for (int k = 0; k < g.k; k += N) {
      // The last vector of a depthwise convolution is a full one, too, and begins earlier.
      const int k0 = kIn == InChannels::adjacent ? min(k, g.k - N) : k;
      sum_filter_gradient_by_vectors<N, kIn, kBias>(p, k0, k, tap0);
    }
}

// The number of parts that the sum over n,p,q is split into. It depends only on the shape.
inline int64_t gradient_parts(const ConvGeometry& g) {
  constexpr int64_t kRowsPerThread = 2, kMostParts = 128, kEnoughBlocks = 2048;
  const int64_t rows = static_cast<int64_t>(g.images) * g.p;
  const GradientLayout layout = gradient_layout<kOutChannels>(g);
  // A large filter has enough blocks, and its partial sums would take much memory.
  const int64_t blocks = std::max(1, ceil_div(layout.items, std::max(1, layout.items_block)));
  const int64_t most = std::clamp<int64_t>(kEnoughBlocks / blocks, 1, kMostParts);
  return std::clamp<int64_t>(ceil_div<int64_t>(rows, kRowsPerThread * layout.row_threads), 1, most);
}

// Launches `kernel`, which calls sum_filter_gradient() or, for threads with vector registers, the one by
// vectors, with the bias gradient if `to` has one, and the sum of the parts. `parts` must be gradient_parts()
// or 1.
template <InChannels kIn, bool kVectors = false, class T>
Status launch_filter_gradient(const char* name, void (*kernel)(GradientParameters<T>),
                              const FilterGradient& to, const T* dy, const T* x, const ConvGeometry& g,
                              int64_t parts, float* workspace, cudaStream_t stream) {
  GradientParameters<T> p = {};
  p.geometry = g;
  p.x = x, p.dy = dy, p.to = to;
  p.dy_aligned = rows_are_aligned<kOutChannels>(dy, g.k);
  p.x_aligned = rows_are_aligned<kOutChannels>(x, g.c);
  p.rows_per_part = ceil_div<int64_t>(static_cast<int64_t>(g.images) * g.p, parts);
  if (parts > 1) {
    p.partials = {workspace, g.patch, g.k, parts};
    p.bias_partials = {workspace + p.partials.part_size() * parts, 1, g.k, parts};
  }
  const GradientLayout layout = gradient_layout<kChannelsOfThread<kIn, T>>(g);
  LaunchShape shape;
  shape.grid_x = parts;
  if constexpr (!kVectors) {
    shape.grid_y = ceil_div(layout.items, layout.items_block);
    shape.block_x = kGradientThreads;
    shape.shared_bytes = to.db ? sizeof(GradientShared<true>) : sizeof(GradientShared<false>);
  }
  RONDO_RETURN_IF_ERROR(launch(name, shape, stream, kernel, p));
  if (parts == 1) return {};
  RONDO_RETURN_IF_ERROR(sum_partials(p.partials, to.dw, 1, g.patch, Epilogue{.beta = to.beta}, stream));
  if (to.db == nullptr) return {};
  return sum_partials(p.bias_partials, to.db, g.k, 1, Epilogue{.beta = to.beta}, stream);
}

}  // namespace rondo::direct
