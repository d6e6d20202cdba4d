// Convolutions and their gradients as implicit GEMMs by wgmma, on compute capability 9.0, of 16-bit types and,
// except filter gradients, in tf32: the choice of the kernel, a pure function of the shape and of the device,
// and the launchers.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/conv/conv_geometry.h>
#include <rondo/kernels/gemm/gemm_config.h>

#include <cstdint>
#include <optional>

namespace rondo {

enum class ConvOperation { forward, data_gradient, filter_gradient };

// Tiles of 128 rows: pixels, or for the filter gradient (tap, in channel).
enum class WgmmaConvTile { k128x256, k128x128, k128x64 };

// Whether wgmma computes the operation with operands `a` and `b` of `type`, in the order of its arguments,
// and tensor maps can describe them: they and their pixels begin at multiples of 16 bytes, and no stride is
// above 8. Nothing fits an operation without results or without summands. wgmma reads tf32 only along the
// summed dimension: of floats it computes no filter gradient, and the data gradient reads a transposed copy of
// the filter, so that `b` and the in channels may be anything.
bool wgmma_conv_fits(ConvOperation operation, DType type, const ConvGeometry& geometry, const void* a,
                     const void* b);

// The tile with the least estimated time, as choose_gemm_plan() estimates it, times the steps of k: wgmma's
// k-tiles have the channels of one tap, up to the next multiple of 64 (tf32: 32), those of mma.sync are dense.
// None where the tile of mma.sync, `other`, needs less, or the device has no wgmma. `splits`: the parts of
// the filter gradient.
std::optional<WgmmaConvTile> choose_wgmma_conv_tile(ConvOperation operation, const ConvGeometry& geometry,
                                                    int64_t splits, TileId other, const DeviceFacts& device);

// The bytes of the workspace of the data gradient in tf32: of the transposed copy of the filter. 0 for shapes
// that do not fit.
int64_t transposed_filter_bytes(const ConvGeometry& geometry);

// Copies the filter KRSC to `to` as CRSK.
Status transpose_filter(float* to, const float* filter, const ConvGeometry& geometry, cudaStream_t stream);

// T: __nv_bfloat16, __half, or float for tf32. `from` is x for y, and dy for dx. For dx in tf32, `filter` is
// the transposed copy. dx has an empty epilogue.
template <class T>
Status launch_conv2d_wgmma(const char* name, Pass pass, WgmmaConvTile tile, T* to, const T* from,
                           const T* filter, const ConvEpilogue<T>& epilogue, const ConvGeometry& geometry,
                           cudaStream_t stream);

// The number of parts of the moments of y: the 16 pixels of a warp in the boxes.
int64_t wgmma_moment_parts(const ConvGeometry& geometry);

// With several parts, `workspace` has room for them (partials_bytes()), and their sum is dw.
template <class T>
Status launch_filter_gradient_wgmma(const char* name, WgmmaConvTile tile, float* dw, const T* dy, const T* x,
                                    const ConvGeometry& geometry, int64_t parts, float* workspace,
                                    cudaStream_t stream);

}  // namespace rondo
