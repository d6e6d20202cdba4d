// Forward convolution and data gradient: y = A^T [ (G g G^T) * (B^T d B) ] A, summed over the input channels.
// For each frequency the sum is a matrix product:
//
//   rows = tiles of 2 x 2 outputs, columns = out channels, inner = in channels      (forward)
//
// A block transforms the inputs of its tiles into shared memory, one k-tile at a time. Each warp
// multiplies one frequency. It reads the transformed filter from global memory, because no other warp of the
// block uses the same part. At the end the products of all frequencies are collected in shared memory and
// transformed to outputs. The data gradient is the forward convolution of dy with the filter rotated by 180
// degrees and a padding of 2 - pad.
#include <rondo/kernels/conv/winograd/winograd.h>
#include <rondo/kernels/conv/conv_epilogue.cuh>
#include <rondo/kernels/conv/winograd/winograd_filter.cuh>
#include <rondo/kernels/conv/winograd/winograd_tile.cuh>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/shared.cuh>

#include <algorithm>

namespace rondo::winograd {
namespace {

struct Parameters {
  const float* from;
  TransformedFilter filter;
  float* to;
  int h, w;  // of `from`, which has filter.inner channels
  int p, q;  // of `to`, which has filter.columns channels
  int pad_h, pad_w;
  int tiles_h, tiles_w;
  int64_t tiles;
  int blocks_of_tiles;
  Epilogue epilogue;
};

// The transformed inputs of one frequency. On a GPU a thread multiplies neighbouring tiles of one channel. A
// gap of 4 floats after the tiles lets the warp that transforms 4 tiles x 8 channels write to 32 different
// banks. On a CPU, vectors run along the channels of a tile. A gap of one cache line after each frequency
// keeps the 16 frequencies of a tile from sharing one set of the cache.
template <class Tile>
struct Inputs {
  static constexpr int kRowStep = Tile::kVectors ? Tile::kInner : 1;
  static constexpr int kStep = Tile::kVectors ? 1 : Tile::kRows + Tile::Threads::kGap;
  static constexpr int kFloats =
      Tile::kVectors ? Tile::kRows * Tile::kInner + Tile::Threads::kLine : Tile::kInner * kStep;
  static __device__ __forceinline__ int at(int row, int channel) { return row * kRowStep + channel * kStep; }
};

template <class Tile>
struct Shared {
  union {
    alignas(64) float inputs[Tile::kStages][kFrequencies][Inputs<Tile>::kFloats];
    alignas(64) Products<Tile> products;
  };
  TilePixels input_pixels[Tile::kRows], output_pixels[Tile::kRows];
};

template <class Tile>
__device__ __forceinline__ void transform_k_tile(float (*to)[Inputs<Tile>::kFloats], const Parameters& p,
                                                 const TilePixels* pixels_of, int first, int rows) {
  // A thread of a GPU transforms single channels. A fiber transforms all channels of a tile, one vector at a
  // time.
  constexpr int kVecSize = Tile::Threads::kTransformed;
  constexpr int kAtOnce = Tile::Threads::template kSharing<Tile::kInner>;  // threads that share a tile
  constexpr int kTiles = Tile::Threads::template kSharing<4>;              // tiles of neighbouring threads
  const int channels = min(Tile::kInner, p.filter.inner - first);
  RONDO_UNROLL_BY(1)
  for (int item = threadIdx.x; item < Tile::kRows * kAtOnce; item += Tile::kThreads) {
    const int row = item / (kTiles * kAtOnce) * kTiles + item % kTiles;
    if (row >= rows) continue;
    const TilePixels pixels = pixels_of[row];
    RONDO_UNROLL_BY(1)
    for (int c = item / kTiles % kAtOnce * kVecSize; c < channels; c += kAtOnce * kVecSize) {
      Vec<kVecSize> v[4][4];
      transformed_inputs<kVecSize>(v, p.from + pixels.offset + first + c, pixels.valid_pixels, p.w,
                                   p.filter.inner);
      RONDO_UNROLL
      for (int f = 0; f < kFrequencies; ++f)
        v[f / 4][f % 4].store_unaligned(to[f] + Inputs<Tile>::at(row, c));
    }
  }
}

template <class Tile>
__device__ __forceinline__ void store_outputs(const Parameters& p, const Shared<Tile>& shared, int rows,
                                              int column0) {
  constexpr int kVecSize = Tile::Threads::kStored;
  constexpr int kPerRow = decltype(shared.products)::kColumns / kVecSize;
  RONDO_UNROLL_BY(1)
  for (int item = threadIdx.x; item < rows * kPerRow; item += Tile::kThreads) {
    const int row = item / kPerRow, column = item % kPerRow * kVecSize;
    const TilePixels pixels = shared.output_pixels[row];
    Vec<kVecSize> y[2][2];
    to_output<kVecSize>(y, [&](int f) { return shared.products.template load<kVecSize>(f, row, column); });
    RONDO_UNROLL
    for (int i = 0; i < 4; ++i)
      if (pixels.valid_pixels >> i & 1)
        p.epilogue.store_row(
            p.to + pixels.offset + static_cast<int64_t>(i / 2 * p.q + i % 2) * p.filter.columns,
            column0 + column, p.filter.columns, y[i / 2][i % 2]);
  }
}

template <class Tile>
__global__ __launch_bounds__(Tile::kThreads, 1) void winograd_forward_kernel(const Parameters p) {
  static_assert(Tile::kColumns == kPanel);
  using In = Inputs<Tile>;
  auto& shared = shared_memory<Shared<Tile>>();
  const int64_t tile0 = static_cast<int64_t>(blockIdx.x) % p.blocks_of_tiles * Tile::kRows;
  const int panel = static_cast<int>(blockIdx.x) / p.blocks_of_tiles;
  const int rows = static_cast<int>(min(int64_t{Tile::kRows}, p.tiles - tile0));
  multiplies_unwritten(shared.inputs);

  for (int i = threadIdx.x; i < Tile::kRows; i += Tile::kThreads) {
    shared.input_pixels[i] =
        tile_pixels<4>(tile0 + i, p.tiles, p.tiles_h, p.tiles_w, p.h, p.w, p.filter.inner, p.pad_h, p.pad_w);
    shared.output_pixels[i] =
        tile_pixels<2>(tile0 + i, p.tiles, p.tiles_h, p.tiles_w, p.p, p.q, p.filter.columns, 0, 0);
  }
  __syncthreads();

  const int frequency = Sums<Tile>::frequency();
  const float* filter = p.filter.panel(frequency, panel);
  Sums<Tile> sums;
  sums.clear();
  mainloop<Tile>(
      ceil_div(p.filter.inner, Tile::kInner),
      [&](int k_tile, int stage) {
        transform_k_tile<Tile>(shared.inputs[stage], p, shared.input_pixels, k_tile * Tile::kInner, rows);
      },
      [&](int k_tile, int stage) {
        const int first = k_tile * Tile::kInner;
        sums.template multiply<In::kRowStep, In::kStep>(shared.inputs[stage][frequency],
                                                        filter + first * kPanel, kPanel,
                                                        min(Tile::kInner, p.filter.inner - first), rows);
      });

  for_each_slice(sums, shared.products,
                 [&](int first) { store_outputs<Tile>(p, shared, rows, panel * kPanel + first); });
}

template <TileKind kind, class Tile>
Status launch_forward(const char* name, Parameters& p, cudaStream_t stream) {
  static_assert(sizeof(Shared<Tile>) <= shared_bytes(kind));
  const int64_t blocks_of_tiles = ceil_div<int64_t>(p.tiles, Tile::kRows);
  p.blocks_of_tiles =
      static_cast<int>(std::min<int64_t>(blocks_of_tiles, INT32_MAX));  // launch() rejects more
  return launch(name,
                {.grid_x = blocks_of_tiles * p.filter.panels(),
                 .block_x = Tile::kThreads,
                 .shared_bytes = sizeof(Shared<Tile>)},
                stream, winograd_forward_kernel<Tile>, p);
}

Status convolve(const char* name, TileKind kind, Parameters& p, int images, cudaStream_t stream) {
  p.tiles_h = ceil_div(p.p, 2), p.tiles_w = ceil_div(p.q, 2);
  p.tiles = static_cast<int64_t>(images) * p.tiles_h * p.tiles_w;
  if constexpr (kVectorTiles) {
    using Tile = WinogradVectorTile<4 * kTallRows, 64, kTallRows, 1>;
    if (kind == TileKind::vectors) return launch_forward<TileKind::vectors, Tile>(name, p, stream);
  }
  if (kind == TileKind::small_gpu)
    return launch_forward<TileKind::small_gpu, WinogradGpuTile<8, 4>>(name, p, stream);
  return launch_forward<TileKind::gpu, WinogradGpuTile<16, 2>>(name, p, stream);
}

}  // namespace

int64_t workspace_bytes(const ConvGeometry& g) {
  return static_cast<int64_t>(sizeof(float)) *
         std::max(transformed_filter_floats(g.c, g.k), transformed_filter_floats(g.k, g.c));
}

Status forward(TileKind kind, float* y, const float* x, const float* filter,
               const ConvEpilogue<float>& epilogue, const ConvGeometry& g, float* workspace,
               cudaStream_t stream) {
  RONDO_RETURN_IF_ERROR(transform_filter(workspace, filter, g.k, g.c, false, stream));
  Parameters p = {};
  p.from = x, p.to = y, p.filter = {workspace, g.c, g.k};
  p.h = g.h, p.w = g.w, p.p = g.p, p.q = g.q, p.pad_h = g.pad_h, p.pad_w = g.pad_w;
  p.epilogue = tile_epilogue<4>(epilogue, y, g.k);
  return convolve("conv2d_forward", kind, p, g.images, stream);
}

Status data_gradient(TileKind kind, float* dx, const float* dy, const float* filter,
                     const ConvEpilogue<float>& epilogue, const ConvGeometry& g, float* workspace,
                     cudaStream_t stream) {
  RONDO_RETURN_IF_ERROR(transform_filter(workspace, filter, g.k, g.c, true, stream));
  Parameters p = {};
  p.from = dy, p.to = dx, p.filter = {workspace, g.k, g.c};
  p.epilogue = tile_epilogue<4>(epilogue, dx, g.c);
  p.h = g.p, p.w = g.q, p.p = g.h, p.q = g.w, p.pad_h = 2 - g.pad_h, p.pad_w = 2 - g.pad_w;
  return convolve("conv2d_data_gradient", kind, p, g.images, stream);
}

}  // namespace rondo::winograd
