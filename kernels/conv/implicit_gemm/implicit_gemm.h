// Convolutions as implicit GEMMs: the matrix of patches is never stored, loaders gather its k-tiles from the
// images. fma/, mma/ and wgmma/ have the kernels by the instruction that multiplies.
#pragma once

#include <rondo/kernels/conv/conv_geometry.h>
#include <rondo/kernels/conv/implicit_gemm/wgmma/wgmma_conv.h>
#include <rondo/kernels/core/view.h>
#include <rondo/kernels/gemm/tiles.h>

#include <cstdint>

namespace rondo {

// The shared memory of a block by multiply-adds or mma.sync: of forward and data gradient, and of the filter
// gradient.
inline constexpr TileNeeds kGatherNeeds = {Order::k_major, 24};
inline constexpr TileNeeds kPatchNeeds = {Order::mn_major, 12};

// The number of parts of the sum over k (conv2d_product()): more than 1 if there are too few tiles for a
// large GPU and the sum is long. A function of the shape alone, as split_k().
int64_t conv2d_splits(ConvOperation operation, const ConvGeometry& geometry);

// The bytes of the workspace for the partial sums; 0 for one part.
int64_t conv2d_partials_bytes(ConvOperation operation, const ConvGeometry& geometry, int64_t splits);

// The tile's instruction selects the kernel.
struct ImplicitGemmPlan {
  TileId tile;
  WgmmaConvPixels pixels = {};     // of wgmma
  bool transposed_filter = false;  // wgmma reads a copy of the filter (transpose_filter())
};

// wgmma is for 16-bit types, and for y and dx in tf32 and tf32x3, where choose_wgmma_conv_tile() estimates
// the shortest time for it. `a`, `b`: the operands in argument order; only their alignment is used.
ImplicitGemmPlan choose_implicit_gemm_plan(ConvOperation operation, const ConvGeometry& geometry,
                                           Arithmetic arithmetic, const void* a, const void* b,
                                           const DeviceProperties& device);

// y from x, or dx from dy. T: __nv_bfloat16, __half or float.
template <class T>
struct ImplicitGemmArguments {
  T* to;
  const T* from;
  const T* filter;
  ConvEpilogue<T> epilogue = {};
  ConvGeometry geometry;
  int64_t splits = 1;  // parts of the sum
};

// y or dx. `workspace`: the partial sums, and after them the transposed filter. Sets `parts` to the number of
// parts in epilogue.moments: 0 if the kernel does not compute them.
template <class T>
Status run_implicit_gemm(const char* name, ConvOperation operation, const ImplicitGemmPlan& plan,
                         const ImplicitGemmArguments<T>& arguments, Workspace workspace, int64_t* parts,
                         cudaStream_t stream);

// dw. `splits`: the most parts of the sum; `workspace`: their partial sums.
template <class T>
Status run_implicit_gemm_filter_gradient(const char* name, const ImplicitGemmPlan& plan,
                                         const FilterGradient& to, const T* dy, const T* x,
                                         const ConvGeometry& geometry, int64_t splits, Workspace workspace,
                                         cudaStream_t stream);

// The most parts of the moments of y. Kernels that compute partial sums of y compute none.
int64_t most_moment_parts(const ConvGeometry& geometry, Arithmetic arithmetic);

}  // namespace rondo
