// The operations of conv2d.h with the tile of the implicit GEMM as an argument. The public functions pass no
// tile. Tests pass one, because a large device would choose the smallest tile for every problem of a test's
// size.
#pragma once

#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/conv/conv_geometry.h>
#include <rondo/kernels/gemm/gemm_config.h>

#include <optional>

namespace rondo {

// The shared memory of a block: of forward and data gradient (kGatherNeeds), and of the filter gradient.
inline constexpr TileNeeds kGatherNeeds = {Order::k_major, 24};
inline constexpr TileNeeds kPatchNeeds = {Order::mn_major, 12};

// The product that computes y, dx or the transpose of dw. k: for y the patch, for dx the mean over the phases
// (taps.cuh), for dw the pixels of y.
GemmShape conv2d_product(ConvOperation operation, const ConvGeometry& geometry);

// The number of parts of the sum over k: more than 1 if there are too few tiles for a large GPU and the sum
// is long. A function of the shape alone, as split_k().
int64_t conv2d_splits(ConvOperation operation, const ConvGeometry& geometry);

// The bytes of the workspace for the partial sums; 0 for one part.
int64_t conv2d_partials_bytes(ConvOperation operation, const ConvGeometry& geometry, int64_t splits);

// A tile for y or dx, and the number of blocks that divide its sum: one if only a tile is given.
struct ConvTile {
  ConvTile(TileId id_of_tile, int64_t parts = 1) : id(id_of_tile), splits(parts) {}
  TileId id;
  int64_t splits;
};

// The same for a tile, or without one for the number of parts that is chosen: 0 for y of few channels.
int64_t conv2d_partials_bytes(ConvOperation operation, const ConvGeometry& geometry,
                              const std::optional<ConvTile>& tile);

// With a tile, runs the implicit GEMM with that tile; options.algorithm is ignored, and the workspace is
// conv2d_partials_bytes(), or for dw that of split_k(). Without a tile, chooses one from the shape and the
// device, or selects the few-channel kernel (few_channels.h) or Winograd's algorithm (winograd.h) where it
// applies.
Status conv2d_forward(std::optional<ConvTile> tile, ImageView<float> y, ImageView<const float> x,
                      FilterView<const float> filter, const Conv2dOptions& options,
                      const Conv2dEpilogue& epilogue, Workspace workspace, cudaStream_t stream);

Status conv2d_data_gradient(std::optional<ConvTile> tile, ImageView<float> dx, ImageView<const float> dy,
                            FilterView<const float> filter, const Conv2dOptions& options, Workspace workspace,
                            cudaStream_t stream);

Status conv2d_filter_gradient(std::optional<TileId> tile, FilterView<float> dw, ImageView<const float> dy,
                              ImageView<const float> x, const Conv2dOptions& options, Workspace workspace,
                              cudaStream_t stream);

// The same for bfloat16 and float16, with a tile of that type.
Status conv2d_forward(std::optional<ConvTile> tile, ImageView<__nv_bfloat16> y,
                      ImageView<const __nv_bfloat16> x, FilterView<const __nv_bfloat16> filter,
                      const Conv2dOptions& options, const Conv2dEpilogueOf<__nv_bfloat16>& epilogue,
                      Workspace workspace, cudaStream_t stream);

Status conv2d_data_gradient(std::optional<ConvTile> tile, ImageView<__nv_bfloat16> dx,
                            ImageView<const __nv_bfloat16> dy, FilterView<const __nv_bfloat16> filter,
                            const Conv2dOptions& options, Workspace workspace, cudaStream_t stream);

Status conv2d_filter_gradient(std::optional<TileId> tile, FilterView<float> dw,
                              ImageView<const __nv_bfloat16> dy, ImageView<const __nv_bfloat16> x,
                              const Conv2dOptions& options, Workspace workspace, cudaStream_t stream);

Status conv2d_forward(std::optional<ConvTile> tile, ImageView<__half> y, ImageView<const __half> x,
                      FilterView<const __half> filter, const Conv2dOptions& options,
                      const Conv2dEpilogueOf<__half>& epilogue, Workspace workspace, cudaStream_t stream);

Status conv2d_data_gradient(std::optional<ConvTile> tile, ImageView<__half> dx, ImageView<const __half> dy,
                            FilterView<const __half> filter, const Conv2dOptions& options,
                            Workspace workspace, cudaStream_t stream);

Status conv2d_filter_gradient(std::optional<TileId> tile, FilterView<float> dw, ImageView<const __half> dy,
                              ImageView<const __half> x, const Conv2dOptions& options, Workspace workspace,
                              cudaStream_t stream);

// The workspace of a forward convolution's sums, beside that of the convolution: the two use it one after the
// other, where both do.
int64_t conv_sums_workspace_bytes(const ConvGeometry& geometry, DType type, Math math);

}  // namespace rondo
