// Filter gradient: dw = G^T [ (A dy A^T) * (B^T d B) ] G, summed over the tiles of the whole batch. For each
// frequency the sum is a matrix product:
//
//   rows = out channels, columns = in channels, inner = tiles of 2 x 2 outputs
//
// A block transforms both operands into shared memory, one k-tile at a time. There each warp
// multiplies one frequency. dw has few values, so several blocks compute the same rows and columns for
// different tiles; their parts are added in order (gemm/partial_sums.cuh).
#include <rondo/kernels/conv/winograd/winograd.h>
#include <rondo/kernels/conv/winograd/winograd_tile.cuh>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/gemm/partial_sums.cuh>

#include <algorithm>

namespace rondo::winograd {
namespace {

struct Parameters {
  ConvGeometry geometry;
  const float* x;
  const float* dy;
  float* dw;  // the first part; the others follow
  int64_t tiles, tiles_per_part;
  int tiles_h, tiles_w;
  int blocks_of_columns;
};

// The size of a transformed operand of one frequency: [tile][channel]. On a CPU the gap keeps the 16
// frequencies of a tile from sharing one set of the cache. A GPU needs no gap: a warp accesses neighbouring
// channels, which are in different banks.
template <class Tile, int Channels>
inline constexpr int kKTileFloats = Tile::kInner* Channels + Tile::Threads::kLine;

template <class Tile>
struct Shared {
  struct KTiles {
    alignas(64) float inputs[kFrequencies][kKTileFloats<Tile, Tile::kColumns>];
    alignas(64) float gradients[kFrequencies][kKTileFloats<Tile, Tile::kRows>];
    TilePixels input_pixels[Tile::kInner], gradient_pixels[Tile::kInner];
  };
  union {
    KTiles k_tiles[Tile::kStages];
    alignas(64) Products<Tile> products;
  };
};

// Computes the position of every tile of a k-tile. Tiles past the end of the part have no pixels and become
// zeros.
template <class Tile>
__device__ __forceinline__ void find_positions(typename Shared<Tile>::KTiles& k_tiles, const Parameters& p,
                                               int64_t first, int64_t end) {
  const ConvGeometry& g = p.geometry;
  for (int i = threadIdx.x; i < Tile::kInner; i += Tile::kThreads) {
    k_tiles.input_pixels[i] =
        tile_pixels<4>(first + i, end, p.tiles_h, p.tiles_w, g.h, g.w, g.c, g.pad_h, g.pad_w);
    k_tiles.gradient_pixels[i] = tile_pixels<2>(first + i, end, p.tiles_h, p.tiles_w, g.p, g.q, g.k, 0, 0);
  }
}

// Calls each(tile, channel) for the channels below `channels` of every tile of a k-tile, divided among the
// block's threads. On a GPU, neighbouring threads have neighbouring channels. On a CPU, each thread has all
// channels of a tile.
template <class Tile, int Channels, class Each>
__device__ __forceinline__ void for_each_item(int channels, Each each) {
  constexpr int kAtOnce = Tile::Threads::template kSharing<Channels>;  // threads that share a tile
  constexpr int kVecSize = Tile::Threads::kTransformed;
  RONDO_UNROLL_BY(1)
  for (int item = threadIdx.x; item < Tile::kInner * kAtOnce; item += Tile::kThreads) RONDO_UNROLL_BY(1)
  for (int c = item % kAtOnce * kVecSize; c < channels; c += kAtOnce * kVecSize) each(item / kAtOnce, c);
}

template <class Tile>
__device__ __forceinline__ void transform_k_tile(typename Shared<Tile>::KTiles& k_tiles, const Parameters& p,
                                                 int row0, int column0) {
  constexpr int N = Tile::Threads::kTransformed;
  const ConvGeometry& g = p.geometry;
  for_each_item<Tile, Tile::kColumns>(min(Tile::kColumns, g.c - column0), [&](int tile, int c) {
    const TilePixels pixels = k_tiles.input_pixels[tile];
    Vec<N> v[4][4];
    transformed_inputs<N>(v, p.x + pixels.offset + column0 + c, pixels.valid_pixels, g.w, g.c);
    RONDO_UNROLL
    for (int f = 0; f < kFrequencies; ++f)
      v[f / 4][f % 4].store_unaligned(k_tiles.inputs[f] + tile * Tile::kColumns + c);
  });
  for_each_item<Tile, Tile::kRows>(min(Tile::kRows, g.k - row0), [&](int tile, int k) {
    const TilePixels pixels = k_tiles.gradient_pixels[tile];
    const float* from = p.dy + pixels.offset + row0 + k;
    Vec<N> dy[2][2];
    RONDO_UNROLL
    for (int i = 0; i < 4; ++i)
      dy[i / 2][i % 2] = pixels.valid_pixels >> i & 1
                             ? Vec<N>::load_unaligned(from + static_cast<int64_t>(i / 2 * g.q + i % 2) * g.k)
                             : Vec<N>::zero();
    transform_output_gradient<N>(dy, [&](int f, const Vec<N>& value) {
      value.store_unaligned(k_tiles.gradients[f] + tile * Tile::kRows + k);
    });
  });
}

template <class Tile>
__device__ __forceinline__ void store_filters(const Parameters& p, const Shared<Tile>& shared, float* dw,
                                              int row0, int column0) {
  constexpr int N = Tile::Threads::kStored;
  constexpr int kPerRow = decltype(shared.products)::kColumns / N;
  const ConvGeometry& g = p.geometry;
  RONDO_UNROLL_BY(1)
  for (int item = threadIdx.x; item < Tile::kRows * kPerRow; item += Tile::kThreads) {
    const int row = item / kPerRow, column = item % kPerRow * N;
    if (row0 + row >= g.k || column0 + column >= g.c) continue;
    float* to = dw + static_cast<int64_t>(row0 + row) * g.patch + column0 + column;
    to_filter<N>([&](int f) { return shared.products.template load<N>(f, row, column); },
                 [&](int r, int s, const Vec<N>& value) { value.store_unaligned(to + (r * 3 + s) * g.c); });
  }
}

template <class Tile>
__global__ __launch_bounds__(Tile::kThreads, 1) void winograd_filter_gradient_kernel(const Parameters p) {
  using KTiles = typename Shared<Tile>::KTiles;
  auto& shared = shared_memory<Shared<Tile>>();
  const int row0 = static_cast<int>(blockIdx.x) / p.blocks_of_columns * Tile::kRows;
  const int column0 = static_cast<int>(blockIdx.x) % p.blocks_of_columns * Tile::kColumns;
  const int64_t first = blockIdx.y * p.tiles_per_part, end = min(p.tiles, first + p.tiles_per_part);
  multiplies_unwritten(shared.k_tiles);

  const int frequency = Sums<Tile>::frequency();
  Sums<Tile> sums;
  sums.clear();
  mainloop<Tile>(
      static_cast<int>(ceil_div<int64_t>(end - first, Tile::kInner)),
      [&](int k_tile, int stage) {
        KTiles& k_tiles = shared.k_tiles[stage];
        find_positions<Tile>(k_tiles, p, first + static_cast<int64_t>(k_tile) * Tile::kInner, end);
        __syncthreads();
        transform_k_tile<Tile>(k_tiles, p, row0, column0);
      },
      [&](int, int stage) {
        KTiles& k_tiles = shared.k_tiles[stage];
        sums.template multiply<1, Tile::kRows>(k_tiles.gradients[frequency], k_tiles.inputs[frequency],
                                               Tile::kColumns, Tile::kInner, p.geometry.k - row0);
      });

  float* dw = p.dw + blockIdx.y * static_cast<int64_t>(p.geometry.k) * p.geometry.patch;
  for_each_slice(sums, shared.products,
                 [&](int slice) { store_filters<Tile>(p, shared, dw, row0, column0 + slice); });
}

template <TileKind kind, class Tile>
Status launch_filter_gradient(Parameters& p, int64_t parts, cudaStream_t stream) {
  static_assert(sizeof(Shared<Tile>) <= shared_bytes(kind));
  p.blocks_of_columns = ceil_div(p.geometry.c, Tile::kColumns);
  return launch("conv2d_filter_gradient",
                {.grid_x = static_cast<int64_t>(ceil_div(p.geometry.k, Tile::kRows)) * p.blocks_of_columns,
                 .grid_y = parts,
                 .block_x = Tile::kThreads,
                 .shared_bytes = sizeof(Shared<Tile>)},
                stream, winograd_filter_gradient_kernel<Tile>, p);
}

int64_t tiles_of(const ConvGeometry& g) {
  return static_cast<int64_t>(g.images) * ceil_div(g.p, 2) * ceil_div(g.q, 2);
}

}  // namespace

int64_t filter_gradient_parts(const ConvGeometry& g) {
  // Blocks of 64 x 64. The blocks of a GPU are half as large, so there are enough for a large GPU.
  constexpr int64_t kEnoughBlocks = 128;
  constexpr int64_t kLeastTiles = 384;  // a shorter sum is not worth a second pass
  const int64_t blocks = static_cast<int64_t>(ceil_div(g.k, 64)) * ceil_div(g.c, 64);
  return std::max<int64_t>(1, std::min(kEnoughBlocks / blocks, tiles_of(g) / kLeastTiles));
}

int64_t filter_gradient_workspace_bytes(const ConvGeometry& g) {
  return tiles_of(g) == 0 ? 0 : partials_bytes(g.k, g.patch, filter_gradient_parts(g));
}

Status filter_gradient(TileKind kind, const FilterGradient& to, const float* dy, const float* x,
                       const ConvGeometry& g, int64_t parts, float* workspace, cudaStream_t stream) {
  // The kernel has no register left for old values: the second pass adds them, also to one part or none.
  const bool in_workspace = parts > 1 || to.beta != 0;
  Parameters p = {};
  p.geometry = g;
  p.x = x, p.dy = dy, p.dw = in_workspace ? workspace : to.dw;
  p.tiles_h = ceil_div(g.p, 2), p.tiles_w = ceil_div(g.q, 2);
  p.tiles = tiles_of(g), p.tiles_per_part = ceil_div(p.tiles, parts);
  const auto run = [&] {
    if constexpr (kVectorTiles) {
      using Tile = WinogradVectorTile<64, 28, kTileRegisters.count / 4, 2>;
      if (kind == TileKind::vectors) return launch_filter_gradient<TileKind::vectors, Tile>(p, parts, stream);
    }
    if (kind == TileKind::small_gpu)
      return launch_filter_gradient<TileKind::small_gpu, WinogradGpuTile<8, 4, 1>>(p, parts, stream);
    return launch_filter_gradient<TileKind::gpu, WinogradGpuTile<8, 2>>(p, parts, stream);
  };
  if (p.tiles > 0 || !in_workspace) RONDO_RETURN_IF_ERROR(run());
  if (!in_workspace) return {};
  return sum_partials({workspace, g.k, g.patch, p.tiles > 0 ? parts : 0}, to.dw, g.patch, 1,
                      Epilogue{.beta = to.beta}, stream);
}

}  // namespace rondo::winograd
