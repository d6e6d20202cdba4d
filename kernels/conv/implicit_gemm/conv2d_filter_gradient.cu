// Filter gradient as an implicit GEMM with a long inner dimension:
//
//   rows = (tap, in channel), columns = out channels, k = output pixels of the whole batch
//
// The result is the transpose of dw; it has few values and is stored transposed. Blocks share tiles and split
// k (split_k.cuh). Rows are (tap, channel) rather than out channels because there are more of them, and tiles
// are higher than wide, so less of a tile is unused.
#include <rondo/kernels/conv/conv_geometry.h>
#include <rondo/kernels/conv/direct/few_channels.h>
#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>
#include <rondo/kernels/conv/winograd/winograd.h>
#include <rondo/kernels/core/check.h>
#include <rondo/kernels/gemm/gemm_config.h>
#include <rondo/kernels/conv/implicit_gemm/patch_loader.cuh>
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
  Partials partials;  // if data is null, the kernel itself stores the result
};

template <class Tile>
struct Shared {
  TileShared<Tile, Order::mn_major> tile;
  PatchTap taps[Tile::kM];
};

template <class Tile>
__global__ __launch_bounds__(Tile::kThreads,
                             Tile::kBlocksAtOnce) void conv2d_filter_gradient_kernel(const Parameters p) {
  using KTileRows = KTileA<Tile, Order::mn_major>;
  auto& shared = shared_memory<Shared<Tile>>();
  const ConvGeometry& g = p.geometry;
  const int row0 = static_cast<int>(blockIdx.x) / p.tiles_n * Tile::kM;
  const int column0 = static_cast<int>(blockIdx.x) % p.tiles_n * Tile::kN;
  const int64_t first = blockIdx.y * p.pixels_per_split;
  const int64_t pixels = min(g.output_pixels - first, p.pixels_per_split);

  for (int i = threadIdx.x; i < Tile::kM; i += Tile::kThreads)
    shared.taps[i] = patch_tap(g, row0 + i, p.x_width);
  __syncthreads();

  PatchLoader<KTileRows, Tile> a(p.x, g, shared.taps, first, pixels, p.x_width);
  MatrixLoader<Order::mn_major, KTileB<Tile, Order::mn_major>, Tile::kN, Tile> b(
      p.dy + first * g.k + column0, g.k, g.k - column0, pixels, p.dy_width);
  Accumulators<Tile> acc;
  tile_mainloop<Tile, Order::mn_major, Order::mn_major>(acc, shared.tile, a, b,
                                                        ceil_div<int64_t>(pixels, Tile::kK));

  const ThreadInTile thread = thread_in_tile<Tile>();
  const int column = column0 + thread.n * Tile::kPerThreadN;
  if (p.partials.data) {
    RONDO_UNROLL
    for (int i = 0; i < Tile::kPerThreadM; ++i) {
      const int row = row0 + KTileRows::row(thread.m, i);
      if (row < g.patch)
        Epilogue{.aligned = true}.store_row(p.partials.row(blockIdx.y, row), column, g.k, acc.row[i]);
    }
    return;
  }
  // Stores column by column: the rows of a thread are contiguous in dw, its columns are far apart.
  RONDO_UNROLL
  for (int j = 0; j < Tile::kPerThreadN; ++j) {
    if (column + j >= g.k) break;
    float* to = p.dw + static_cast<int64_t>(column + j) * g.patch;
    RONDO_UNROLL
    for (int i = 0; i < Tile::kPerThreadM; ++i) {
      const int row = row0 + KTileRows::row(thread.m, i);
      if (row < g.patch) to[row] = acc.row[i][j];
    }
  }
}

// The kernel that computes the gradient, the number of parts of its sum over the pixels, and the workspace
// for the parts.
struct Plan {
  bool winograd = false, few_channels = false;
  GemmConfig config;
  int64_t workspace_bytes = 0;
};
Plan plan_of(const ConvGeometry& g, const Conv2dOptions& options, std::optional<TileId> tile) {
  Plan plan;
  if (g.k == 0 || g.patch == 0) return plan;
  plan.winograd = !tile && winograd::wanted(g, options);
  plan.few_channels = !tile && !plan.winograd && has_few_channels(g);
  if (plan.winograd) {
    plan.config.splits = winograd::filter_gradient_parts(g);
    plan.workspace_bytes = winograd::filter_gradient_workspace_bytes(g);
    return plan;
  }
  if (plan.few_channels)
    plan.config.splits = few_channels_parts(g);
  else
    plan.config = split_k({g.patch, g.k, g.output_pixels});
  if (plan.config.splits > 1) plan.workspace_bytes = partials_bytes(g.patch, g.k, plan.config.splits);
  return plan;
}

}  // namespace

Conv2dWorkspaceBytes conv2d_workspace_bytes(const ImageView<const float>& x,
                                            const FilterView<const float>& filter,
                                            const Conv2dOptions& options) {
  ConvGeometry g;
  const ImageView<const float> y = {
      nullptr, x.images, conv2d_output_size(x.height, filter.height, options.stride_h, options.pad_h),
      conv2d_output_size(x.width, filter.width, options.stride_w, options.pad_w), filter.out_channels};
  if (!check_conv2d_shapes({"conv2d_workspace_bytes", "x", "y", "filter"}, x, y, filter, options, &g).ok())
    return {};
  Conv2dWorkspaceBytes bytes;
  if (g.images > 0 && winograd::wanted(g, options))
    bytes.forward = bytes.data_gradient = winograd::workspace_bytes(g);
  bytes.filter_gradient = plan_of(g, options, {}).workspace_bytes;
  return bytes;
}

Status conv2d_filter_gradient(std::optional<TileId> tile, FilterView<float> dw, ImageView<const float> dy,
                              ImageView<const float> x, const Conv2dOptions& options, Workspace workspace,
                              cudaStream_t stream) {
  constexpr const char* kName = "conv2d_filter_gradient";
  ConvGeometry g;
  RONDO_RETURN_IF_ERROR(check_conv2d_shapes({kName, "x", "dy", "dw"}, x, dy, dw, options, &g));
  const Plan plan = plan_of(g, options, tile);
  ArgumentCheck check(kName);
  check.output("dw", dw);
  check.input("dy", dy);
  check.input("x", x);
  check.workspace(workspace, plan.workspace_bytes);
  RONDO_RETURN_IF_ERROR(check.status());
  if (dw.size() == 0) return {};

  auto* parts = static_cast<float*>(workspace.data);
  const GemmConfig& config = plan.config;
  DeviceFacts device;
  RONDO_RETURN_IF_ERROR(device_facts(&device));
  if (plan.winograd)
    return winograd::filter_gradient(winograd::tile_kind(device), dw.data, dy.data, x.data, g, config.splits,
                                     parts, stream);
  if (plan.few_channels)
    return few_channels_filter_gradient(dw.data, dy.data, x.data, g, config.splits, parts, stream);

  const bool split = config.splits > 1;
  Parameters p = {};
  p.geometry = g;
  p.x = x.data, p.dy = dy.data, p.dw = dw.data;
  p.x_width = copy_width(x.data, g.c, g.c);
  p.dy_width = copy_width(dy.data, g.k, g.k);
  p.pixels_per_split = split ? config.k_per_split : std::max<int64_t>(g.output_pixels, 1);
  if (split) p.partials = {parts, g.patch, g.k, config.splits};

  if (!tile) tile = choose_tile(g.patch, g.k, config.splits, kPatchNeeds, device);
  RONDO_RETURN_IF_ERROR(with_tile(*tile, [&]<class Tile>() {
    static_assert(sizeof(Shared<Tile>) ==
                  sizeof(TileShared<Tile, Order::mn_major>) + kPatchNeeds.bytes_per_row * Tile::kM);
    p.tiles_n = ceil_div(g.k, Tile::kN);
    const LaunchShape shape = {.grid_x = ceil_div<int64_t>(g.patch, Tile::kM) * p.tiles_n,
                               .grid_y = config.splits,
                               .block_x = Tile::kThreads,
                               .shared_bytes = sizeof(Shared<Tile>)};
    return launch(kName, shape, stream, conv2d_filter_gradient_kernel<Tile>, p);
  }));
  return split ? sum_partials(p.partials, dw.data, 1, g.patch, Epilogue{}, stream) : Status();
}

Status conv2d_filter_gradient(FilterView<float> dw, ImageView<const float> dy, ImageView<const float> x,
                              const Conv2dOptions& options, Workspace workspace, cudaStream_t stream) {
  return conv2d_filter_gradient(std::nullopt, dw, dy, x, options, workspace, stream);
}

}  // namespace rondo
