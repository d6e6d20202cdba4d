// Forward convolution and data gradient as an implicit GEMM. The matrix of patches is never stored: the
// loader gathers its k-tiles from the image directly into shared memory (gather_loader.cuh). tile_mainloop()
// multiplies them, as in gemm/fma/pipelined.cuh.
//
//   forward:   rows = output pixels, columns = out channels, k = (tap, in channel)
//   backward:  rows = input pixels,  columns = in channels,  k = (tap, out channel)
//
// Where taps can fall outside the image (padding, backward), the image index varies fastest over the rows.
// Then most rows of a tile have the same position, and therefore the same taps inside the image (taps.cuh).
// In a forward pass without padding every tap is inside, and the rows are in memory order, which suits the
// caches. The backward pass of a strided convolution sorts its rows by phase, and each block processes one
// phase.
//
// If there are too few tiles for a GPU, each tile has several blocks (blockIdx.y), which divide k and write
// partial sums (../../gemm/partial_sums.cuh). All tiles divide it at the same taps and channels, also where
// they leave out taps. So the bits do not depend on the tile.
//
// The kernel is for every kind of tile. fma/ and mma/ instantiate it for the tiles of one arithmetic a file.
#pragma once

#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>
#include <rondo/kernels/conv/conv_epilogue.cuh>
#include <rondo/kernels/conv/implicit_gemm/filter_loaders.cuh>
#include <rondo/kernels/conv/implicit_gemm/gather_loader.cuh>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/gemm/fma/tile_mainloop.cuh>
#include <rondo/kernels/gemm/partial_sums.cuh>

#include <algorithm>

namespace rondo {

template <class T>
struct Conv2dParameters {
  ConvGeometry geometry;
  const T* from;  // x or dy
  const T* filter;
  T* to;                         // y or dx
  int from_width, filter_width;  // elements per copy
  bool image_fastest;
  int tiles_n, blocks_per_phase;
  Epilogue epilogue;
  Partials partials;       // null data: k is not split, and the kernel stores the result
  PartialMoments moments;  // forward, by tensor cores: of each kMomentRows rows, if wanted
};

// The rows of one phase. A forward pass has one phase.
struct Rows {
  Axis h, w;
  int images;
  bool image_fastest;
  int to_h, to_w;  // of one image of the result

  __host__ __device__ int64_t count() const { return static_cast<int64_t>(images) * h.rows * w.rows; }
};
template <ConvOperation operation, class T>
__host__ __device__ Rows rows_of(const Conv2dParameters<T>& p, int phase) {
  const ConvGeometry& g = p.geometry;
  const Axes axes = axes_of<operation>(g, phase);
  if (operation == ConvOperation::forward) return {axes.h, axes.w, g.images, p.image_fastest, g.p, g.q};
  return {axes.h, axes.w, g.images, p.image_fastest, g.h, g.w};
}

struct RowPlace {
  int64_t image;
  int h, w;
};
__device__ inline RowPlace place_of(const Rows& rows, int64_t row) {
  const int64_t positions = static_cast<int64_t>(rows.h.rows) * rows.w.rows;
  const int64_t image = rows.image_fastest ? row % rows.images : row / positions;
  const int position = static_cast<int>(rows.image_fastest ? row / rows.images : row % positions);
  return {image, position / rows.w.rows, position % rows.w.rows};
}

// Rows past the end repeat the last row: they read valid memory, and their results, to -1, are not stored.
__device__ __forceinline__ GatherRow gather_row(const Rows& rows, int from_channels, int64_t row) {
  const RowPlace place = place_of(rows, min(row, rows.count() - 1));
  const int y = rows.h.from_first + place.h * rows.h.from_step,
            x = rows.w.from_first + place.w * rows.w.from_step;
  const int to_y = rows.h.to_first + place.h * rows.h.to_step,
            to_x = rows.w.to_first + place.w * rows.w.to_step;
  const int64_t from = (place.image * rows.h.size + y) * rows.w.size + x;
  const int64_t to = (place.image * rows.to_h + to_y) * rows.to_w + to_x;
  return {from * from_channels, row < rows.count() ? to : -1, y, x};
}

struct TileTaps {
  TapWalk walk;
  bool all_visible;  // for all rows
};

// The taps that the rows [first, last] need.
__device__ inline TileTaps tile_taps(const Rows& rows, int channels, int64_t first, int64_t last) {
  RowPlace begin = {0, 0, 0}, end = {0, rows.h.rows - 1, rows.w.rows - 1};
  bool one_position = false;
  if (rows.image_fastest) {
    const RowPlace a = place_of(rows, first), b = place_of(rows, last);
    begin.h = a.h, end.h = b.h;
    if (a.h == b.h) begin.w = a.w, end.w = b.w;
    one_position = a.h == b.h && a.w == b.w;
  }
  const TapRange r = taps_between(rows.h, begin.h, end.h), s = taps_between(rows.w, begin.w, end.w);
  return {TapWalk(r, s, channels), one_position || !rows.image_fastest};
}

// The order of the filters. Without tensor cores it decides only the padding in shared memory. The filters of
// the data gradient are MN-major, but the longer padding of that order would leave room for one block less on
// an H100. BackwardFilterLoader::first_row() copies without bank conflicts with the shorter one.
template <class Tile, ConvOperation operation>
inline constexpr Order kFilterOrder =
    Tile::kTensor&& operation == ConvOperation::data_gradient ? Order::mn_major : Order::k_major;

template <class Tile, ConvOperation operation>
struct Conv2dShared {
  TileShared<Tile, Order::k_major, kFilterOrder<Tile, operation>> tile;
  GatherRow rows[Tile::kM];
};

template <class Tile, ConvOperation operation>
__global__ __launch_bounds__(Tile::kThreads, Tile::kBlocksAtOnce) void conv2d_kernel(
    const Conv2dParameters<typename Tile::Element> p) {
  constexpr Order kOrderB = kFilterOrder<Tile, operation>;
  using Filters = KTileB<Tile, kOrderB>;
  using FilterLoader =
      std::conditional_t<operation == ConvOperation::forward, ForwardFilterLoader<Filters, Tile>,
                         BackwardFilterLoader<Filters, Tile>>;
  auto& shared = shared_memory<Conv2dShared<Tile, operation>>();
  const ConvGeometry& g = p.geometry;
  const int block = static_cast<int>(blockIdx.x) % p.blocks_per_phase;
  const int64_t row0 = static_cast<int64_t>(block) / p.tiles_n * Tile::kM;
  const int column0 = block % p.tiles_n * Tile::kN;
  const Rows rows = rows_of<operation>(p, static_cast<int>(blockIdx.x) / p.blocks_per_phase);
  if (row0 >= rows.count()) return;  // the first phase has the most rows
  const int from_channels = operation == ConvOperation::forward ? g.c : g.k;

  for (int i = threadIdx.x; i < Tile::kM; i += Tile::kThreads)
    shared.rows[i] = gather_row(rows, from_channels, row0 + i);
  __syncthreads();

  TileTaps taps = tile_taps(rows, from_channels, row0, min(row0 + Tile::kM, rows.count()) - 1);
  const KRange part =
      part_of_k(rows.h.taps * rows.w.taps * from_channels, 64, static_cast<int>(blockIdx.y), gridDim.y);
  taps.walk.restrict_to(part.begin, part.end, rows.w.taps);
  const GatherSource<typename Tile::Element> source = {p.from, from_channels, rows.h, rows.w, p.from_width};
  const FilterSource<typename Tile::Element> filter = {p.filter,       g.k,    g.s,   g.c, g.patch,
                                                       p.filter_width, rows.h, rows.w};
  GatherLoader<KTileA<Tile, Order::k_major>, Tile> a(source, taps.walk, shared.rows, taps.all_visible);
  FilterLoader b(filter, taps.walk, column0);
  Accumulators<Tile> acc;
  tile_mainloop<Tile, Order::k_major, kOrderB>(acc, shared.tile, a, b, taps.walk.length());

  // Only what is needed here stays in registers during the main loop.
  const int columns = operation == ConvOperation::forward ? g.k : g.c;
  if constexpr (Tile::kTensor && operation == ConvOperation::forward) {
    if (p.moments.values) {
      store_tile_and_moments<Tile>(
          shared.tile, acc,
          [&](int row, int column, const Vec<4>& sums) {
            const int64_t to = shared.rows[row].to;
            return to < 0 ? sums : p.epilogue.store_row(p.to + to * columns, column0 + column, columns, sums);
          },
          [&](int row) { return shared.rows[row].to >= 0; },
          [&](int row, int column, const auto& moments) {
            if (row0 + row < rows.count())
              put_moments(p.moments, (row0 + row) / kMomentRows, column0 + column, moments);
          });
      return;
    }
  }
  store_tile<Tile, Order::k_major>(shared.tile, acc, [&](int row, int column, const auto& sums) {
    const int64_t to = shared.rows[row].to;
    if (to < 0) return;
    if (p.partials.data)
      p.epilogue.store_tile_row(p.partials.row(blockIdx.y, to), column0 + column, columns, sums);
    else if constexpr (std::is_same_v<typename Tile::Element, float>)
      p.epilogue.store_tile_row(p.to + to * columns, column0 + column, columns, sums);
    else
      p.epilogue.store_row(p.to + to * columns, column0 + column, columns, sums);
  });
}

template <class Tile, ConvOperation operation>
Status launch_conv2d_tile(const char* name, Conv2dParameters<typename Tile::Element>& p,
                          cudaStream_t stream) {
  const ConvGeometry& g = p.geometry;
  const int64_t phases = phases_of<operation>(g);
  static_assert(sizeof(Conv2dShared<Tile, operation>) ==
                sizeof(TileShared<Tile, Order::k_major, kFilterOrder<Tile, operation>>) +
                    kGatherNeeds.bytes_per_row * Tile::kM);
  p.tiles_n = ceil_div(operation == ConvOperation::forward ? g.k : g.c, Tile::kN);
  const int64_t blocks = ceil_div<int64_t>(rows_of<operation>(p, 0).count(), Tile::kM) * p.tiles_n;
  p.blocks_per_phase = static_cast<int>(std::min<int64_t>(blocks, INT32_MAX));  // launch() rejects more
  const LaunchShape shape = {.grid_x = blocks * phases,
                             .grid_y = std::max<int64_t>(1, p.partials.count),
                             .block_x = Tile::kThreads,
                             .shared_bytes = sizeof(Conv2dShared<Tile, operation>)};
  return launch(name, shape, stream, conv2d_kernel<Tile, operation>, p);
}

// The same for both operations.
template <class Tile>
Status launch_conv2d_tile(const char* name, ConvOperation operation,
                          Conv2dParameters<typename Tile::Element>& p, cudaStream_t stream) {
  return operation == ConvOperation::forward
             ? launch_conv2d_tile<Tile, ConvOperation::forward>(name, p, stream)
             : launch_conv2d_tile<Tile, ConvOperation::data_gradient>(name, p, stream);
}

}  // namespace rondo
