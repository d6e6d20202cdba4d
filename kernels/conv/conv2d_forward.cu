// Forward convolution and data gradient as one implicit GEMM: the matrix of patches is never built; the
// loader gathers its slabs from the image straight into shared memory (gather_loader.cuh), and
// tile_mainloop() does the rest, as in gemm_06.
//
//   forward:   rows = output pixels, columns = out channels, k = (tap, in channel)
//   backward:  rows = input pixels,  columns = in channels,  k = (tap, out channel)
//
// Rows are ordered so that the image runs fastest wherever taps can fall outside (padding, backward): then
// the rows of a tile mostly share their position, and with it the taps that are worth visiting (taps.cuh).
// Without padding every tap of a forward pass hits, and rows follow memory instead, for the caches' sake.
#include <rondo/kernels/conv/conv_geometry.h>
#include <rondo/kernels/conv/few_channels.h>
#include <rondo/kernels/conv/implicit_gemm.h>
#include <rondo/kernels/conv/winograd.h>
#include <rondo/kernels/gemm/gemm_arguments.h>
#include <rondo/kernels/gemm/gemm_config.h>
#include <rondo/kernels/conv/filter_loaders.cuh>
#include <rondo/kernels/conv/gather_loader.cuh>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/gemm/epilogue.cuh>
#include <rondo/kernels/gemm/tile_mainloop.cuh>
#include <rondo/kernels/gemm/tiles.cuh>

namespace rondo {
namespace {

enum class Pass { forward, backward };

struct Parameters {
  GatherSource source;  // x or dy
  FilterSource filter;
  float* to;  // y or dx
  int images;
  int rows_h, rows_w;                                    // the pixels of one image that are rows: of y or dx
  int columns;                                           // channels of y or dx
  int row_step_h, row_step_w, row_start_h, row_start_w;  // TapAxis' row = position * step + start
  bool image_fastest;
  int tiles_n;
  Epilogue epilogue;

  __host__ __device__ bool unit_divisors() const { return source.h.divisor == 1 && source.w.divisor == 1; }
  __host__ __device__ int64_t rows() const { return static_cast<int64_t>(images) * rows_h * rows_w; }
};

struct RowPlace {
  int64_t image;
  int h, w;
};
__device__ RowPlace place_of(const Parameters& p, int64_t row) {
  const int64_t positions = static_cast<int64_t>(p.rows_h) * p.rows_w;
  const int64_t image = p.image_fastest ? row % p.images : row / positions;
  const int position = static_cast<int>(p.image_fastest ? row / p.images : row % positions);
  return {image, position / p.rows_w, position % p.rows_w};
}

// Rows beyond the last are copies of it: they read valid memory, and nobody stores their results.
__device__ GatherRow gather_row(const Parameters& p, int64_t row) {
  const RowPlace place = place_of(p, min(row, p.rows() - 1));
  const int y = place.h * p.row_step_h + p.row_start_h, x = place.w * p.row_step_w + p.row_start_w;
  const int64_t image = place.image * p.source.h.size * p.source.w.size * p.source.channels;
  const int64_t pixel =
      p.unit_divisors() ? (static_cast<int64_t>(y) * p.source.w.size + x) * p.source.channels : 0;
  return {image + pixel, ((place.image * p.rows_h + place.h) * p.rows_w + place.w) * p.columns, y, x};
}

struct TileTaps {
  TapWalk walk;
  bool all_visible;  // for every row
};

// The taps that the rows [first, last] need.
__device__ TileTaps tile_taps(const Parameters& p, int64_t first, int64_t last) {
  RowPlace begin = {0, 0, 0}, end = {0, p.rows_h - 1, p.rows_w - 1};
  bool one_position = false;
  if (p.image_fastest) {
    const RowPlace a = place_of(p, first), b = place_of(p, last);
    begin.h = a.h, end.h = b.h;
    if (a.h == b.h) begin.w = a.w, end.w = b.w;
    one_position = a.h == b.h && a.w == b.w;
  }
  const TapRange r =
      taps_between(p.source.h, begin.h * p.row_step_h + p.row_start_h, end.h * p.row_step_h + p.row_start_h);
  const TapRange s =
      taps_between(p.source.w, begin.w * p.row_step_w + p.row_start_w, end.w * p.row_step_w + p.row_start_w);
  return {TapWalk(r, s, p.source.channels), p.unit_divisors() && (one_position || !p.image_fastest)};
}

template <class Tile>
struct Shared {
  TileShared<Tile, Order::along_k> tile;
  GatherRow rows[Tile::kM];
};

template <class Tile, Pass pass>
__global__ __launch_bounds__(Tile::kThreads, Tile::kBlocksAtOnce) void conv2d_kernel(const Parameters p) {
  using FilterLoader = std::conditional_t<pass == Pass::forward, ForwardFilterLoader<SlabB<Tile>, Tile>,
                                          BackwardFilterLoader<SlabB<Tile>, Tile>>;
  auto& shared = shared_memory<Shared<Tile>>();
  const int64_t row0 = static_cast<int64_t>(blockIdx.x) / p.tiles_n * Tile::kM;
  const int column0 = static_cast<int>(blockIdx.x) % p.tiles_n * Tile::kN;

  for (int i = threadIdx.x; i < Tile::kM; i += Tile::kThreads) shared.rows[i] = gather_row(p, row0 + i);
  __syncthreads();

  const TileTaps taps = tile_taps(p, row0, min(row0 + Tile::kM, p.rows()) - 1);
  GatherLoader<SlabA<Tile, Order::along_k>, Tile> a(p.source, taps.walk, shared.rows, taps.all_visible);
  FilterLoader b(p.filter, taps.walk, column0);
  Accumulators<Tile> acc;
  tile_mainloop<Tile, Order::along_k>(acc, shared.tile, a, b, ceil_div(taps.walk.length(), Tile::kK));

  const int thread_m = threadIdx.x / Tile::kThreadsN;
  const int column = column0 + static_cast<int>(threadIdx.x) % Tile::kThreadsN * Tile::kPerThreadN;
  RONDO_UNROLL
  for (int i = 0; i < Tile::kPerThreadM; ++i) {
    const int row = SlabA<Tile, Order::along_k>::row(thread_m, i);
    if (row0 + row < p.rows())
      p.epilogue.store_row(p.to + shared.rows[row].to, column, p.columns, acc.row[i]);
  }
}

// Whether a forward pass or a data gradient goes by Winograd's algorithm.
Status choose_algorithm(const char* name, const ConvGeometry& g, const Conv2dOptions& options, const Workspace& workspace,
                        std::initializer_list<NamedMemory> others, bool* by_winograd) {
  RONDO_RETURN_IF_ERROR(check_optional_workspace(name, workspace, others));
  const bool wanted = winograd::wanted(g, options);
  const int64_t bytes = wanted ? winograd::workspace_bytes(g) : 0;
  *by_winograd = wanted && workspace.bytes >= bytes;
  if (options.algorithm == ConvAlgorithm::winograd && !*by_winograd)
    return bad_argument(name, ": the workspace has ", workspace.bytes, " bytes, the algorithm winograd needs ", bytes);
  return {};
}

template <Pass pass>
Status launch_conv2d(const char* name, std::optional<TileId> tile, Parameters& p, cudaStream_t stream) {
  if (p.rows() == 0 || p.columns == 0) return {};
  p.source.width = copy_width(p.source.data, p.source.channels, p.source.channels);
  p.epilogue.aligned = copy_width(p.to, p.columns, 4) == 4;
  if (!tile) {
    DeviceFacts device;
    RONDO_RETURN_IF_ERROR(device_facts(&device));
    tile = choose_tile(p.rows(), p.columns, 1, kGatherNeeds, device);
  }
  return with_tile(*tile, [&]<class Tile>() {
    static_assert(sizeof(Shared<Tile>) ==
                  sizeof(TileShared<Tile, Order::along_k>) + kGatherNeeds.bytes_per_row * Tile::kM);
    p.tiles_n = ceil_div(p.columns, Tile::kN);
    const LaunchShape shape = {.grid_x = ceil_div<int64_t>(p.rows(), Tile::kM) * p.tiles_n,
                               .block_x = Tile::kThreads,
                               .shared_bytes = sizeof(Shared<Tile>)};
    return launch(name, shape, stream, conv2d_kernel<Tile, pass>, p);
  });
}

}  // namespace

Status conv2d_forward(std::optional<TileId> tile, ImageView<float> y, ImageView<const float> x,
                      FilterView<const float> filter, const Conv2dOptions& options,
                      const Conv2dEpilogue& epilogue, Workspace workspace, cudaStream_t stream) {
  ConvGeometry g;
  RONDO_RETURN_IF_ERROR(
      check_conv2d({"conv2d_forward", "x", "y", "filter"}, ConvWrites::output, x, y, filter, options, &g));
  const VectorView<const float>& bias = epilogue.bias;
  if (bias.size != (bias.data ? g.k : 0))
    return bad_argument("conv2d_forward: bias has ", bias.size,
                        " elements, must be the out_channels of filter, ", g.k);
  RONDO_RETURN_IF_ERROR(check_pointer("conv2d_forward", "bias", bias.data, bias.size));
  if (overlap(y.data, 4 * y.size(), bias.data, 4 * bias.size))
    return bad_argument("conv2d_forward: y overlaps bias");
  bool by_winograd = false;
  RONDO_RETURN_IF_ERROR(choose_algorithm(
      "conv2d_forward", g, options, workspace,
      {{"x", x.data, 4 * x.size()}, {"y", y.data, 4 * y.size()}, {"filter", filter.data, 4 * filter.size()},
       {"bias", bias.data, 4 * bias.size}},
      &by_winograd));

  if (!tile && by_winograd && y.size() > 0)
    return winograd::forward(winograd::tile_kind(), y.data, x.data, filter.data, bias.data, epilogue.relu, g,
                             static_cast<float*>(workspace.data), stream);
  if (!tile && y.size() > 0 && has_few_channels(g))
    return few_channels_forward(y.data, x.data, filter.data, bias.data, epilogue.relu, g, stream);
  Parameters p = {};
  p.source = {x.data, g.c, {g.h, g.r, 1, 1}, {g.w, g.s, 1, 1}, 1};
  p.filter = {filter.data, g.k, g.s, g.c, g.patch, copy_width(filter.data, g.c, g.c)};
  p.to = y.data;
  p.images = g.images, p.rows_h = g.p, p.rows_w = g.q, p.columns = g.k;
  p.row_step_h = g.stride_h, p.row_step_w = g.stride_w, p.row_start_h = -g.pad_h, p.row_start_w = -g.pad_w;
  p.image_fastest = g.pad_h > 0 || g.pad_w > 0;
  p.epilogue.bias = bias.data;
  p.epilogue.relu = epilogue.relu;
  return launch_conv2d<Pass::forward>("conv2d_forward", tile, p, stream);
}

Status conv2d_data_gradient(std::optional<TileId> tile, ImageView<float> dx, ImageView<const float> dy,
                            FilterView<const float> filter, const Conv2dOptions& options,
                            Workspace workspace, cudaStream_t stream) {
  ConvGeometry g;
  RONDO_RETURN_IF_ERROR(check_conv2d({"conv2d_data_gradient", "dx", "dy", "filter"}, ConvWrites::input, dx,
                                     dy, filter, options, &g));
  bool by_winograd = false;
  RONDO_RETURN_IF_ERROR(choose_algorithm(
      "conv2d_data_gradient", g, options, workspace,
      {{"dy", dy.data, 4 * dy.size()}, {"dx", dx.data, 4 * dx.size()}, {"filter", filter.data, 4 * filter.size()}},
      &by_winograd));
  if (!tile && by_winograd && dx.size() > 0)
    return winograd::data_gradient(winograd::tile_kind(), dx.data, dy.data, filter.data, g,
                                   static_cast<float*>(workspace.data), stream);
  Parameters p = {};
  p.source = {dy.data, g.k, {g.p, g.r, -1, g.stride_h}, {g.q, g.s, -1, g.stride_w}, 1};
  p.filter = {filter.data, g.k, g.s, g.c, g.patch, copy_width(filter.data, g.c, g.c)};
  p.to = dx.data;
  p.images = g.images, p.rows_h = g.h, p.rows_w = g.w, p.columns = g.c;
  p.row_step_h = 1, p.row_step_w = 1, p.row_start_h = g.pad_h, p.row_start_w = g.pad_w;
  p.image_fastest = true;
  return launch_conv2d<Pass::backward>("conv2d_data_gradient", tile, p, stream);
}

Status conv2d_forward(ImageView<float> y, ImageView<const float> x, FilterView<const float> filter,
                      const Conv2dOptions& options, const Conv2dEpilogue& epilogue, Workspace workspace,
                      cudaStream_t stream) {
  return conv2d_forward(std::nullopt, y, x, filter, options, epilogue, workspace, stream);
}

Status conv2d_data_gradient(ImageView<float> dx, ImageView<const float> dy, FilterView<const float> filter,
                            const Conv2dOptions& options, Workspace workspace, cudaStream_t stream) {
  return conv2d_data_gradient(std::nullopt, dx, dy, filter, options, workspace, stream);
}

}  // namespace rondo
