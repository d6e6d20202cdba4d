// Winograd's algorithm for 3 x 3 filters with stride 1 (winograd_math.cuh), for all three convolutions. Each
// is fused into one kernel: the transformed inputs and the products are only in shared memory and registers.
// conv2d_*() choose these functions, and pass checked arguments whose shapes fits() accepts.
//
// Compared with the direct sums, fewer products are rounded, but sums of up to four inputs are rounded first.
// The errors are about the same.
#pragma once

#include <rondo/kernels/conv/conv_geometry.h>
#include <rondo/kernels/core/arithmetic.h>
#include <rondo/kernels/gemm/device_properties.h>

namespace rondo::winograd {

// The kind of tile. gpu: for most GPUs. small_gpu: for GPUs with little shared memory per block. vectors: for
// vector registers, on the CPU executor only. The first two add in the same order.
enum class TileKind { gpu, small_gpu, vectors };
// The shared memory per block that a device must allow. 99 KB is the limit of sm_86, sm_89 and sm_120; 64 KB
// is that of sm_75.
constexpr int64_t shared_bytes(TileKind kind) {
  return int64_t{kind == TileKind::gpu ? 99 : kind == TileKind::small_gpu ? 64 : 227} << 10;
}
// The tile kind for this build and device.
TileKind tile_kind(const DeviceProperties& device);

// Returns whether the algorithm supports this convolution: 3 x 3 filters, stride 1, padding of at most 2, no
// dilation, one group, channels in multiples of 16.
bool fits(const ConvGeometry& geometry);
// Returns whether the algorithm needs less work than the direct sum. It depends only on the shape of one
// image, so every device and every batch size gives the same bits. The estimate includes the unused parts of
// tiles in small images, and the taps that the direct algorithm skips.
bool pays(const ConvGeometry& geometry);
// Returns whether a convolution uses the algorithm, provided that the workspace is large enough.
inline bool wanted(const ConvGeometry& geometry, ConvAlgorithm algorithm, Arithmetic arithmetic) {
  if (arithmetic != Arithmetic::fp32) return false;
  return algorithm == ConvAlgorithm::winograd || (algorithm == ConvAlgorithm::automatic && pays(geometry));
}

// The workspace for the transformed filter of forward and data gradient; 16-byte aligned.
int64_t workspace_bytes(const ConvGeometry& geometry);

Status forward(TileKind kind, float* y, const float* x, const float* filter,
               const ConvEpilogue<float>& epilogue, const ConvGeometry& geometry, float* workspace,
               cudaStream_t stream);
Status data_gradient(TileKind kind, float* dx, const float* dy, const float* filter,
                     const ConvEpilogue<float>& epilogue, const ConvGeometry& geometry, float* workspace,
                     cudaStream_t stream);

// The number of parts that the sum over the tiles is split into. It depends only on the shape.
int64_t filter_gradient_parts(const ConvGeometry& geometry);
// `parts` must be filter_gradient_parts() or 1. The workspace has filter_gradient_workspace_bytes(), 0
// of an empty batch; one part without beta needs none.
int64_t filter_gradient_workspace_bytes(const ConvGeometry& geometry);
Status filter_gradient(TileKind kind, const FilterGradient& to, const float* dy, const float* x,
                       const ConvGeometry& geometry, int64_t parts, float* workspace, cudaStream_t stream);

}  // namespace rondo::winograd
