// Winograd's algorithm for 3 x 3 filters with stride 1 (winograd_math.cuh), for all three convolutions, each fused into
// one kernel: the transformed inputs and the products live in shared memory and registers only. conv2d_*() choose; these
// take arguments that have been checked, with shapes that fits() accepts.
//
// Compared with the sums of the definition, fewer products are rounded and the sums of up to four inputs are rounded
// first: the errors are about the same.
#pragma once

#include <rondo/kernels/conv/conv_geometry.h>
#include <rondo/kernels/gemm/gemm_config.h>

namespace rondo::winograd {

// Which tile multiplies: that of GPUs, a smaller one for those whose blocks have little shared memory, or
// that of vector registers, which the CPU executor alone has. The first two add in the same order.
enum class TileKind { gpu, small_gpu, vectors };
// Shared memory that a device must let a block have. 99 KB is the limit of sm_86, sm_89 and sm_120, 64 KB
// that of sm_75.
constexpr int64_t shared_bytes(TileKind kind) {
  return int64_t{kind == TileKind::gpu ? 99 : kind == TileKind::small_gpu ? 64 : 227} << 10;
}
// The one that suits build and device.
TileKind tile_kind(const DeviceFacts& device);

// Can the algorithm do this? Filters of 3 x 3, strides of 1, padding of at most 2, channels in multiples of 16.
bool fits(const ConvGeometry& geometry);
// Does it save products? Decided by the shape of one image alone, so that every device and every batch gets the same
// bits. Tiles that stick out of small images, and taps that the direct algorithm skips, count.
bool pays(const ConvGeometry& geometry);
// Whether a convolution goes by it, if the workspace allows.
inline bool wanted(const ConvGeometry& geometry, const Conv2dOptions& options) {
  return options.algorithm == ConvAlgorithm::winograd ||
         (options.algorithm == ConvAlgorithm::automatic && pays(geometry));
}

// For the transformed filter of forward and data gradient; 16-byte aligned.
int64_t workspace_bytes(const ConvGeometry& geometry);

Status forward(TileKind kind, float* y, const float* x, const float* filter, const float* bias, bool relu,
               const ConvGeometry& geometry, float* workspace, cudaStream_t stream);
Status data_gradient(TileKind kind, float* dx, const float* dy, const float* filter,
                     const ConvGeometry& geometry, float* workspace, cudaStream_t stream);

// Into how many parts the sum over the tiles is cut, from the shape alone.
int64_t filter_gradient_parts(const ConvGeometry& geometry);
// `parts` is that number, with a workspace of filter_gradient_workspace_bytes(), or 1.
int64_t filter_gradient_workspace_bytes(const ConvGeometry& geometry);
Status filter_gradient(TileKind kind, float* dw, const float* dy, const float* x,
                       const ConvGeometry& geometry, int64_t parts, float* workspace, cudaStream_t stream);

}  // namespace rondo::winograd
