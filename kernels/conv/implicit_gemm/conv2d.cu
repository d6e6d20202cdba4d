// Forward convolution and data gradient as an implicit GEMM, by the kernel of the plan.
#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>

#include <rondo/kernels/conv/implicit_gemm/launchers.cuh>
#include <rondo/kernels/core/values.cuh>

#include <type_traits>

namespace rondo {
namespace {

// By multiply-adds or mma.sync. Sets `parts` as run_implicit_gemm().
template <class T>
Status run_gathering(const char* name, ConvOperation operation, const TileId& tile,
                     const ImplicitGemmArguments<T>& a, const GemmShape& product, float* partials,
                     int64_t* parts, cudaStream_t stream) {
  const ConvGeometry& g = a.geometry;
  const bool forward = operation == ConvOperation::forward;
  Conv2dParameters<T> p = {};
  p.geometry = g;
  p.from = a.from, p.filter = a.filter, p.to = a.to;
  p.image_fastest = !forward || g.padded;
  p.from_width = copy_width(p.from, forward ? g.c : g.k, forward ? g.c : g.k);
  p.filter_width = copy_width(p.filter, g.c, g.c);
  const Epilogue of_results = tile_epilogue<4>(a.epilogue, a.to, product.n);
  if (a.splits > 1) {
    p.partials = {partials, product.m, product.n, a.splits};
    p.epilogue = Epilogue{.aligned = true};
  } else {
    p.moments = a.epilogue.moments;
    p.epilogue = of_results;
  }
  if (p.moments.values && tile.instruction == Instruction::mma)
    *parts = ceil_div<int64_t>(g.output_pixels, kMomentRows);
  const auto launch = [&] {
    if constexpr (std::is_same_v<T, float>)
      if (!uses_tensor_cores(tile.arithmetic))
        return launch_conv2d_fma<Arithmetic::fp32>(name, operation, tile, p, stream);
    return with_tensor_arithmetic<T>(tile.arithmetic, [&]<Arithmetic kArithmetic>() {
      if constexpr (kHasVectorTiles<kArithmetic>)
        if (tile.instruction == Instruction::vector_fma)
          return launch_conv2d_fma<kArithmetic>(name, operation, tile, p, stream);
      return launch_conv2d_mma<kArithmetic>(name, operation, tile, p, stream);
    });
  };
  RONDO_RETURN_IF_ERROR(launch());
  if (a.splits <= 1) return {};
  return sum_partials(p.partials, a.to, product.n, 1, of_results, stream);
}

}  // namespace

template <class T>
Status run_implicit_gemm(const char* name, ConvOperation operation, const ImplicitGemmPlan& plan,
                         const ImplicitGemmArguments<T>& a, Workspace workspace, int64_t* parts,
                         cudaStream_t stream) {
  *parts = 0;
  const ConvGeometry& g = a.geometry;
  const GemmShape product = conv2d_product(operation, g);
  if (product.m == 0 || product.n == 0) return {};
  auto* const partials = static_cast<float*>(workspace.data);
  if (plan.tile.instruction != Instruction::wgmma)
    return run_gathering(name, operation, plan.tile, a, product, partials, parts, stream);

  const T* filter = a.filter;
  if constexpr (std::is_same_v<T, float>) {
    if (plan.transposed_filter) {
      float* const transposed = partials + conv2d_partials_bytes(operation, g, a.splits) / 4;
      RONDO_RETURN_IF_ERROR(transpose_filter(transposed, filter, g, stream));
      filter = transposed;
    }
  }
  if (a.epilogue.moments.values && a.splits <= 1) *parts = wgmma_moment_parts(g, plan.pixels);
  return with_tensor_arithmetic<T>(plan.tile.arithmetic, [&]<Arithmetic kArithmetic>() {
    return launch_conv2d_wgmma<kArithmetic>(name, operation, plan.tile, plan.pixels,
                                            {a.to, a.from, filter, a.epilogue, g, a.splits, partials},
                                            stream);
  });
}

#define RONDO_IMPLICIT_GEMM(T)                                                           \
  template Status run_implicit_gemm(const char*, ConvOperation, const ImplicitGemmPlan&, \
                                    const ImplicitGemmArguments<T>&, Workspace, int64_t*, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_IMPLICIT_GEMM)
#undef RONDO_IMPLICIT_GEMM

}  // namespace rondo
