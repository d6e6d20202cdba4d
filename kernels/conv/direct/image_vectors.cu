// A block is one thread of the CPU executor. It computes a band of rows of the result, for as many images as
// a vector register has lanes. It transposes the rows of the source that these read to shared memory, as
// [row][column][channel][image], each once: the rows that the taps of one row of results read are there
// together.
//
// The sums of a chunk of channels of a pixel are in registers, a vector of images for each channel, while all
// taps are added: for each tap and channel of the source the thread loads one vector of images and multiplies
// it by a value of the filter for each sum. Taps outside of the image are left out. Then every lane stores
// its channels to its image.
//
// A forward pass has a transposed copy of the filter in shared memory: [tap][channel of x][channel of y].
//
// Limit: each pixel reads the whole filter, from L2.
#include <rondo/kernels/conv/direct/image_vectors.h>

#include <rondo/kernels/conv/direct/few_channels.h>
#include <rondo/kernels/core/size.h>
#include <rondo/kernels/conv/conv_epilogue.cuh>
#include <rondo/kernels/conv/implicit_gemm/taps.cuh>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/core/tile_threads.cuh>

#include <algorithm>
#include <cstring>
#include <utility>

namespace rondo {
namespace {

constexpr int kImages = kTileRegisters.lanes;  // of a block

// Channels of a chunk. There are registers for their sums, a vector of images, and a value of the filter.
constexpr bool fits_registers(int channels) { return channels + 2 <= kTileRegisters.count; }

// The chunk with which the fewest sums are computed twice; 0 if the result has too few channels. The last
// chunk is a full one, too: it begins earlier than where the one before it ends.
constexpr int kFewestChannels = 4;
using Chunks = std::integer_sequence<int, kFewestChannels, 6, 8, 10, 12, 16, 20, 24, 25, 28>;
int best_chunk(int channels) {
  int best = 0;
  const auto computed = [&](int chunk) { return ceil_div(channels, chunk) * chunk; };
  const auto compare = [&](int chunk) {
    if (chunk <= channels && fits_registers(chunk) && (best == 0 || computed(chunk) <= computed(best)))
      best = chunk;
  };
  [&]<int... kChunk>(std::integer_sequence<int, kChunk...>) { (compare(kChunk), ...); }
  (Chunks());
  return best;
}

int result_channels(ConvOperation operation, const ConvGeometry& g) {
  return operation == ConvOperation::forward ? g.k : g.c;
}

// The rows of the source between the first and the last one that a row of the result reads.
int rows_together(ConvOperation operation, const ConvGeometry& g) {
  const bool forward = operation == ConvOperation::forward;
  const int64_t rows = int64_t{g.r - 1} * g.dilation_h / (forward ? 1 : g.stride_h) + 1;
  return static_cast<int>(std::min<int64_t>(rows, forward ? g.h : g.p));
}

// Of a row of the source, for one image.
int64_t row_floats(ConvOperation operation, const ConvGeometry& g) {
  return operation == ConvOperation::forward ? int64_t{g.w} * g.c : int64_t{g.q} * g.k;
}
int64_t shared_bytes_of(ConvOperation operation, const ConvGeometry& g) {
  constexpr int64_t kMost = int64_t{1} << 40;  // far beyond any block, and safe to add
  const int64_t rows =
      saturating_product({rows_together(operation, g), row_floats(operation, g), kImages, 4});
  const int64_t filter = operation == ConvOperation::forward ? saturating_product({g.patch, g.k, 4}) : 0;
  return std::min(rows, kMost) + std::min(filter, kMost);
}

struct Shared {
  alignas(64) float values[1];  // actual size: shared_bytes_of()
};

struct Parameters {
  ConvGeometry geometry;
  const float* from;
  const float* filter;
  float* to;
  Epilogue epilogue;
  int rows_together;
  int groups, bands;  // of images, and of rows of the result
};

// Transposes a row of the source of `images` images, `stride` floats apart, to [float of the row][image].
template <int kLanes>
__device__ void load_images(float* to, const float* from, int64_t stride, int images, int floats) {
  for (int i = 0; i < floats; i += kLanes) {
    Vec<kLanes> block[kLanes];
    RONDO_UNROLL
    for (int image = 0; image < kLanes; ++image)
      block[image] = image < images ? Vec<kLanes>::load_some(from + image * stride + i, floats - i)
                                    : Vec<kLanes>::zero();
    transpose(block);
    const int count = min(kLanes, floats - i);
    for (int j = 0; j < count; ++j) block[j].store(to + (i + j) * kLanes);
  }
}

// The filter bank of a forward pass as [position in a patch][channel of y].
template <int kLanes>
__device__ void load_filter(float* to, const float* filter, const ConvGeometry& g) {
  for (int e = 0; e < g.patch; e += kLanes)
    for (int k = 0; k < g.k; k += kLanes) {
      Vec<kLanes> block[kLanes];
      RONDO_UNROLL
      for (int i = 0; i < kLanes; ++i)
        block[i] = k + i < g.k ? Vec<kLanes>::load_some(filter + int64_t{k + i} * g.patch + e, g.patch - e)
                               : Vec<kLanes>::zero();
      transpose(block);
      const int count = min(kLanes, g.patch - e);
      for (int j = 0; j < count; ++j) block[j].store_some(to + (e + j) * g.k + k, g.k - k);
    }
}

// The values of the filter that a pixel multiplies: `step` floats from one channel of the source to the next.
struct Weights {
  const float* data;
  int64_t step;
};
template <ConvOperation operation>
__device__ __forceinline__ Weights weights_of(const Parameters& p, const float* packed, int tap) {
  const ConvGeometry& g = p.geometry;
  if (operation == ConvOperation::forward) return {packed + static_cast<int64_t>(tap) * g.c * g.k, g.k};
  return {p.filter + tap * g.c, g.patch};
}

// Epilogue::store_row() for sums of channels, without old values.
template <int kLanes, int kChunk>
__device__ __forceinline__ void apply_epilogue(Vec<kLanes> (&sums)[kChunk], const Epilogue& epilogue,
                                               int first_channel) {
  RONDO_UNROLL
  for (int i = 0; i < kChunk; ++i) {
    sums[i].scale(epilogue.alpha);
    if (epilogue.bias)
      for (auto& part : sums[i].v) part += epilogue.bias[first_channel + i];
    if (epilogue.activation == Activation::relu) sums[i].relu();
  }
}

template <int kChunk, int kLanes, ConvOperation operation>
__global__ void image_vectors_kernel(const Parameters p) {
  using Images = Vec<kLanes>;
  const ConvGeometry& g = p.geometry;
  constexpr bool kForward = operation == ConvOperation::forward;
  const int channels = kForward ? g.c : g.k, columns = kForward ? g.k : g.c;
  const int to_h = kForward ? g.p : g.h, to_w = kForward ? g.q : g.w;
  const int band = static_cast<int>(blockIdx.x) % p.bands;
  const int first_image = static_cast<int>(blockIdx.x) / p.bands % p.groups * kLanes;
  const auto [h, w] = axes_of<operation>(g, static_cast<int>(blockIdx.x) / p.bands / p.groups);
  const int images = min(kLanes, g.images - first_image), floats = w.size * channels;

  float* const rows = shared_memory<Shared>().values;
  float* const packed = rows + static_cast<int64_t>(p.rows_together) * floats * kLanes;
  if (kForward) load_filter<kLanes>(packed, p.filter, g);

  int next_row = 0;  // of the source: those before it are in shared memory, or not needed
  const int end = static_cast<int>(int64_t{band + 1} * h.rows / p.bands);
  for (int row = static_cast<int>(int64_t{band} * h.rows / p.bands); row < end; ++row) {
    const TapRange taps_h = taps_between(h, row, row);
    const auto source_row = [&](int tap) { return h.from_first + row * h.from_step + tap * h.tap_distance; };
    if (taps_h.count > 0) {
      // From the first row on that this or a later row of results reads, also if this one does not.
      const int lowest = min(source_row(0), source_row(h.taps - 1));
      const int last = max(source_row(taps_h.begin), source_row(taps_h.begin + taps_h.count - 1));
      for (next_row = max(next_row, lowest); next_row <= last; ++next_row)
        load_images<kLanes>(rows + next_row % p.rows_together * static_cast<int64_t>(floats) * kLanes,
                            p.from + (int64_t{first_image} * h.size + next_row) * floats,
                            static_cast<int64_t>(h.size) * floats, images, floats);
    }
    for (int column = 0; column < w.rows; ++column) {
      const TapRange taps_w = taps_between(w, column, column);
      const int64_t pixel =
          static_cast<int64_t>(h.to_first + row * h.to_step) * to_w + w.to_first + column * w.to_step;
      for (int begin = 0; begin < columns; begin += kChunk) {
        const int first = min(begin, columns - kChunk);
        Images sums[kChunk];
        RONDO_UNROLL
        for (int i = 0; i < kChunk; ++i) sums[i] = Images::zero();
        for (int r = taps_h.begin; r < taps_h.begin + taps_h.count; ++r)
          for (int s = taps_w.begin; s < taps_w.begin + taps_w.count; ++s) {
            const int tap = (h.tap_first + r * h.tap_step) * g.s + w.tap_first + s * w.tap_step;
            const int x = w.from_first + column * w.from_step + s * w.tap_distance;
            const float* source =
                rows +
                (static_cast<int64_t>(source_row(r) % p.rows_together) * floats + x * channels) * kLanes;
            Weights weights = weights_of<operation>(p, packed, tap);
            weights.data += first;
            for (int c = 0; c < channels; ++c, source += kLanes, weights.data += weights.step) {
              const Images values = Images::load(source);
              RONDO_UNROLL
              for (int i = 0; i < kChunk; ++i) sums[i].add_product(weights.data[i], values);
            }
          }
        const bool reads_old = p.epilogue.beta != 0;
        if (!reads_old) apply_epilogue(sums, p.epilogue, first);
        // The channels of an image side by side, in whole vectors.
        constexpr int kStored = ceil_div(kChunk, kLanes) * kLanes;
        alignas(64) float stored[kLanes][kStored + kLanes];
        RONDO_UNROLL
        for (int i = 0; i < kStored; i += kLanes) {
          Images block[kLanes];
          RONDO_UNROLL
          for (int j = 0; j < kLanes; ++j) block[j] = i + j < kChunk ? sums[i + j] : Images::zero();
          transpose(block);
          RONDO_UNROLL
          for (int image = 0; image < kLanes; ++image) block[image].store(&stored[image][i]);
        }
        const int skipped = begin - first;  // stored by the chunk before
        for (int image = 0; image < images; ++image) {
          float* const to = p.to + (int64_t{first_image + image} * to_h * to_w + pixel) * columns;
          if (reads_old)
            for (int i = skipped; i < kChunk; i += kLanes)
              p.epilogue.store_tile_row(to, first + i, first + kChunk,
                                        Images::load_unaligned(&stored[image][i]));
          else if (skipped == 0)
            memcpy(to + first, stored[image], kChunk * sizeof(float));
          else
            memcpy(to + begin, &stored[image][skipped], (kChunk - skipped) * sizeof(float));
        }
      }
    }
  }
}

template <ConvOperation operation>
Status launch_image_vectors(const char* name, int chunk, const LaunchShape& shape, const Parameters& p,
                            cudaStream_t stream) {
  Status status;
  const auto launch_if = [&]<int kChunk>() {
    if constexpr (kVectorTiles && fits_registers(kChunk))
      if (chunk == kChunk)
        status = launch(name, shape, stream, image_vectors_kernel<kChunk, kImages, operation>, p);
  };
  [&]<int... kChunk>(std::integer_sequence<int, kChunk...>) {
    (launch_if.template operator()<kChunk>(), ...);
  }
  (Chunks());
  return status;
}

}  // namespace

bool image_vectors_fit(ConvOperation operation, const ConvGeometry& g, const DeviceProperties& device) {
  const bool has_values = g.images > 0 && g.h > 0 && g.w > 0 && g.c > 0 && g.k > 0 && g.output_pixels > 0;
  return device.vectors && operation != ConvOperation::filter_gradient && g.groups == 1 && has_values &&
         best_chunk(result_channels(operation, g)) > 0 &&
         shared_bytes_of(operation, g) <= device.shared_bytes_per_block;
}

// Compares the parts of the lanes that results fill. With equal parts a data gradient is as quick as an
// implicit GEMM or quicker, and a forward pass is slower where its sums are short. With full lanes,
// few_channels_forward() takes 1.2 to 4 times as long (rondo bench conv, AMD EPYC with AVX-512).
bool prefers_image_vectors(ConvOperation operation, const ConvGeometry& g, const DeviceProperties& device) {
  if (!image_vectors_fit(operation, g, device)) return false;
  constexpr int kColumns = 2 * kImages;  // of a register tile of an implicit GEMM
  const auto filled = [](int count, int whole) {
    return static_cast<double>(count) / (static_cast<double>(ceil_div(count, whole)) * whole);
  };
  const int channels = result_channels(operation, g);
  const double here = filled(channels, best_chunk(channels)) * filled(g.images, kImages);
  if (operation == ConvOperation::data_gradient) return here > 0.95 * filled(channels, kColumns);
  return here > (has_few_channels(g) ? 0.6 : 1.1 * filled(channels, kColumns));
}

Status conv2d_by_image_vectors(const char* name, ConvOperation operation, float* to, const float* from,
                               const float* filter, const ConvEpilogue<float>& epilogue,
                               const ConvGeometry& g, cudaStream_t stream) {
  DeviceProperties device;
  RONDO_RETURN_IF_ERROR(device_properties(&device));
  const int channels = result_channels(operation, g);
  if (!image_vectors_fit(operation, g, device))
    return bad_argument(name, ": the plan has vectors of images, which need a device with vector registers, ",
                        kFewestChannels, " channels of the result, here ", channels, ", and ",
                        shared_bytes_of(operation, g), " bytes of shared memory, here ",
                        device.shared_bytes_per_block);
  const bool forward = operation == ConvOperation::forward;
  Parameters p = {};
  p.geometry = g;
  p.from = from, p.filter = filter, p.to = to;
  p.epilogue = tile_epilogue<kImages>(epilogue, to, channels);
  p.epilogue.aligned = false;
  p.rows_together = rows_together(operation, g);
  p.groups = ceil_div(g.images, kImages);
  // Each band loads the rows of the source at its edges again.
  const int64_t phases = forward ? 1 : phases_of<ConvOperation::data_gradient>(g);
  const int rows = forward ? g.p : ceil_div(g.h, g.stride_h);
  const int64_t wanted = ceil_div<int64_t>(4 * int64_t{device.multiprocessors}, p.groups * phases);
  p.bands = static_cast<int>(std::clamp<int64_t>(wanted, 1, std::max(1, rows / (2 * p.rows_together))));
  const LaunchShape shape = {
      .grid_x = saturating_product({p.bands, p.groups, phases}),
      .shared_bytes = std::max<int64_t>(shared_bytes_of(operation, g), sizeof(Shared))};
  const int chunk = best_chunk(channels);
  return forward ? launch_image_vectors<ConvOperation::forward>(name, chunk, shape, p, stream)
                 : launch_image_vectors<ConvOperation::data_gradient>(name, chunk, shape, p, stream);
}

}  // namespace rondo
