// The operations of conv2d.h with the tile of their implicit GEMM as an argument. The public ones leave it
// empty; tests name it, since a large device would pick the smallest tile for every problem of a test's size.
#pragma once

#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/gemm/gemm_config.h>

#include <optional>

namespace rondo {

// What forward and data gradient, and the filter gradient, keep in the shared memory of a block.
inline constexpr SharedNeeds kGatherNeeds = {Order::k_major, 24};
inline constexpr SharedNeeds kPatchNeeds = {Order::mn_major, 12};

// A tile: the implicit GEMM with it, whatever algorithm the options name. No tile: the one that suits shape and device; few channels go their own way (few_channels.h), and so does what
// Winograd's algorithm saves products of (winograd.h).
Status conv2d_forward(std::optional<TileId> tile, ImageView<float> y, ImageView<const float> x,
                      FilterView<const float> filter, const Conv2dOptions& options,
                      const Conv2dEpilogue& epilogue, Workspace workspace, cudaStream_t stream);

Status conv2d_data_gradient(std::optional<TileId> tile, ImageView<float> dx, ImageView<const float> dy,
                            FilterView<const float> filter, const Conv2dOptions& options, Workspace workspace,
                            cudaStream_t stream);

Status conv2d_filter_gradient(std::optional<TileId> tile, FilterView<float> dw, ImageView<const float> dy,
                              ImageView<const float> x, const Conv2dOptions& options, Workspace workspace,
                              cudaStream_t stream);

}  // namespace rondo
