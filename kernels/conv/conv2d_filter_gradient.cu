// Filter gradient as an implicit GEMM with a long inner dimension:
//
//   rows = (tap, in channel), columns = out channels, k = output pixels of the whole batch
//
// so the result is the transpose of dw; its few values leave through a transposing store. Blocks share tiles
// and split k (split_k.cuh). Rows are (tap, channel) rather than out channels because there are more of them,
// and tiles are higher than wide: less of a tile sticks out.
#include <rondo/kernels/conv/conv_geometry.h>
#include <rondo/kernels/conv/few_channels.h>
#include <rondo/kernels/conv/implicit_gemm.h>
#include <rondo/kernels/conv/winograd.h>
#include <rondo/kernels/gemm/gemm_arguments.h>
#include <rondo/kernels/gemm/gemm_config.h>
#include <rondo/kernels/conv/patch_loader.cuh>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/gemm/split_k.cuh>
#include <rondo/kernels/gemm/tile_mainloop.cuh>
#include <rondo/kernels/gemm/tiles.cuh>

#include <algorithm>

namespace rondo {
namespace {

struct Parameters {
  ConvGeometry geometry;
  const float* x;
  const float* dy;
  float* dw;
  int x_width, dy_width;
  int tiles_n;
  int64_t pixels_per_split;
  Partials partials;  // data is null: the kernel itself stores the result
};

template <class Tile>
struct Shared {
  TileShared<Tile, Order::across_k> tile;
  PatchTap taps[Tile::kM];
};

template <class Tile>
__global__ __launch_bounds__(Tile::kThreads,
                             Tile::kBlocksAtOnce) void conv2d_filter_gradient_kernel(const Parameters p) {
  using SlabRows = SlabA<Tile, Order::across_k>;
  auto& shared = shared_memory<Shared<Tile>>();
  const ConvGeometry& g = p.geometry;
  const int row0 = static_cast<int>(blockIdx.x) / p.tiles_n * Tile::kM;
  const int column0 = static_cast<int>(blockIdx.x) % p.tiles_n * Tile::kN;
  const int64_t first = blockIdx.y * p.pixels_per_split;
  const int64_t pixels = min(g.output_pixels - first, p.pixels_per_split);

  for (int i = threadIdx.x; i < Tile::kM; i += Tile::kThreads)
    shared.taps[i] = patch_tap(g, row0 + i, p.x_width);
  __syncthreads();

  PatchLoader<SlabRows, Tile> a(p.x, g, shared.taps, first, pixels, p.x_width);
  MatrixLoader<Order::across_k, SlabB<Tile>, Tile::kN, Tile> b(p.dy + first * g.k + column0, g.k,
                                                               g.k - column0, pixels, p.dy_width);
  Accumulators<Tile> acc;
  tile_mainloop<Tile, Order::across_k>(acc, shared.tile, a, b, ceil_div<int64_t>(pixels, Tile::kK));

  const int thread_m = threadIdx.x / Tile::kThreadsN;
  const int column = column0 + static_cast<int>(threadIdx.x) % Tile::kThreadsN * Tile::kPerThreadN;
  if (p.partials.data) {
    RONDO_UNROLL
    for (int i = 0; i < Tile::kPerThreadM; ++i) {
      const int row = row0 + SlabRows::row(thread_m, i);
      if (row < g.patch)
        Epilogue{.aligned = true}.store_row(p.partials.row(blockIdx.y, row), column, g.k, acc.row[i]);
    }
    return;
  }
  // Column by column: a thread's rows are neighbours in dw, its columns lie far apart.
  RONDO_UNROLL
  for (int j = 0; j < Tile::kPerThreadN; ++j) {
    if (column + j >= g.k) break;
    float* to = p.dw + static_cast<int64_t>(column + j) * g.patch;
    RONDO_UNROLL
    for (int i = 0; i < Tile::kPerThreadM; ++i) {
      const int row = row0 + SlabRows::row(thread_m, i);
      if (row < g.patch) to[row] = acc.row[i][j];
    }
  }
}

// Into how many parts the sum over the pixels is cut.
GemmConfig split_pixels(const ConvGeometry& g, bool few_channels) {
  if (few_channels) return {.splits = few_channels_parts(g)};
  return split_k({g.patch, g.k, g.output_pixels});
}

int64_t workspace_bytes(const ConvGeometry& g, int64_t splits) {
  return splits > 1 ? partials_bytes(g.patch, g.k, splits) : 0;
}

}  // namespace

Conv2dWorkspaceBytes conv2d_workspace_bytes(const ImageView<const float>& x,
                                            const FilterView<const float>& filter,
                                            const Conv2dOptions& options) {
  ConvGeometry g;
  const auto output_size = [](int64_t size, int64_t taps, int64_t stride, int64_t pad) {
    const bool sensible = stride >= 1 && size >= 0 && pad >= 0 && std::max({size, taps, pad}) < INT32_MAX;
    return sensible ? conv2d_output_size(size, taps, stride, pad) : 0;
  };
  const ImageView<const float> y = {
      nullptr, x.images, output_size(x.height, filter.height, options.stride_h, options.pad_h),
      output_size(x.width, filter.width, options.stride_w, options.pad_w), filter.out_channels};
  if (!check_conv2d_shapes({"conv2d_workspace_bytes", "x", "y", "filter"}, x, y, filter, options, &g).ok())
    return {};
  const bool by_winograd = winograd::wanted(g, options);
  Conv2dWorkspaceBytes bytes;
  if (by_winograd) bytes.forward = bytes.data_gradient = winograd::workspace_bytes(g);
  if (filter.size() == 0) return bytes;
  bytes.filter_gradient = by_winograd ? winograd::filter_gradient_workspace_bytes(g)
                                      : workspace_bytes(g, split_pixels(g, has_few_channels(g)).splits);
  return bytes;
}

Status conv2d_filter_gradient(std::optional<TileId> tile, FilterView<float> dw, ImageView<const float> dy,
                              ImageView<const float> x, const Conv2dOptions& options, Workspace workspace,
                              cudaStream_t stream) {
  const char* name = "conv2d_filter_gradient";
  ConvGeometry g;
  RONDO_RETURN_IF_ERROR(check_conv2d({name, "x", "dy", "dw"}, ConvWrites::filter, x, dy, dw, options, &g));
  RONDO_RETURN_IF_ERROR(check_optional_workspace(
      name, workspace,
      {{"x", x.data, 4 * x.size()}, {"dy", dy.data, 4 * dy.size()}, {"dw", dw.data, 4 * dw.size()}}));
  if (dw.size() == 0) return {};

  if (!tile && winograd::wanted(g, options)) {
    const bool cut = workspace.bytes >= winograd::filter_gradient_workspace_bytes(g);
    return winograd::filter_gradient(winograd::tile_kind(), dw.data, dy.data, x.data, g,
                                     cut ? winograd::filter_gradient_parts(g) : 1,
                                     static_cast<float*>(workspace.data), stream);
  }
  const bool few_channels = !tile && has_few_channels(g);
  GemmConfig config = split_pixels(g, few_channels);
  const bool split = config.splits > 1 && workspace.bytes >= workspace_bytes(g, config.splits);
  if (!split) config.splits = 1;
  float* scratch = static_cast<float*>(workspace.data);
  if (few_channels)
    return few_channels_filter_gradient(dw.data, dy.data, x.data, g, config.splits, scratch, stream);

  Parameters p = {};
  p.geometry = g;
  p.x = x.data, p.dy = dy.data, p.dw = dw.data;
  p.x_width = copy_width(x.data, g.c, g.c);
  p.dy_width = copy_width(dy.data, g.k, g.k);
  p.pixels_per_split = split ? config.k_per_split : std::max<int64_t>(g.output_pixels, 1);
  if (split) p.partials = {scratch, g.patch, g.k, config.splits};

  if (!tile) {
    DeviceFacts device;
    RONDO_RETURN_IF_ERROR(device_facts(&device));
    tile = choose_tile(g.patch, g.k, config.splits, kPatchNeeds, device);
  }
  RONDO_RETURN_IF_ERROR(with_tile(*tile, [&]<class Tile>() {
    static_assert(sizeof(Shared<Tile>) ==
                  sizeof(TileShared<Tile, Order::across_k>) + kPatchNeeds.bytes_per_row * Tile::kM);
    p.tiles_n = ceil_div(g.k, Tile::kN);
    const LaunchShape shape = {.grid_x = ceil_div<int64_t>(g.patch, Tile::kM) * p.tiles_n,
                               .grid_y = config.splits,
                               .block_x = Tile::kThreads,
                               .shared_bytes = sizeof(Shared<Tile>)};
    return launch(name, shape, stream, conv2d_filter_gradient_kernel<Tile>, p);
  }));
  return split ? sum_partials(p.partials, dw.data, 1, g.patch, Epilogue{}, stream) : Status();
}

Status conv2d_filter_gradient(FilterView<float> dw, ImageView<const float> dy, ImageView<const float> x,
                              const Conv2dOptions& options, Workspace workspace, cudaStream_t stream) {
  return conv2d_filter_gradient(std::nullopt, dw, dy, x, options, workspace, stream);
}

}  // namespace rondo
