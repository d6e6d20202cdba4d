// Idea:      3 k-tiles in shared memory: while one is multiplied, cp.async copies the next two. The fragments
//            of a step are loaded while those of the step before are multiplied. A warp computes 64 x 64
//            results, so 32 products need 8 ldmatrix. For few results with a long sum, several blocks share a
//            tile.
// Builds on: gemm_tc_03_ldmatrix, gemm_06_pipelined, whose kernel it is: gemm_pipelined.cuh with the tile
//            128x128 of tensor_tile.cuh, and the loop of tensor_mainloop.cuh.
// Limit now: mma.sync. On 9.0 it reaches about 0.6 of the peak of the tensor cores; wgmma has the rest.
#include <rondo/kernels/gemm/gemm_with_tile.h>
#include <rondo/kernels/gemm/ladder/gemm_06_pipelined.h>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rungs.h>

#include <type_traits>

namespace rondo {

template <class T>
Status gemm_tc_04_pipelined(MatrixView<T> c, MatrixView<const T> a, MatrixView<const T> b,
                            const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  constexpr const char* kName = "gemm_tc_04_pipelined";
  if constexpr (std::is_same_v<T, float>) {
    if (options.math == Math::fp32)
      return bad_argument(kName, ": math is fp32, this rung has only tf32 and tf32x3");
    return run_gemm_06(kName, c, a, b, options, workspace, stream);
  } else {
    DeviceProperties device;
    RONDO_RETURN_IF_ERROR(device_properties(&device));
    constexpr bool bfloat16 = std::is_same_v<T, __nv_bfloat16>;
    const TileId large = bfloat16 ? TileId::kBf16Of128x128 : TileId::kFp16Of128x128;
    const TileInfo& info = tile_infos()[static_cast<size_t>(large)];
    const TileNeeds needs = {options.transpose_a ? Order::mn_major : Order::k_major};
    const bool fits = shared_bytes(info, needs) <= device.shared_bytes_per_block;
    return gemm_with_tile(kName,
                          fits       ? large
                          : bfloat16 ? TileId::kBf16Of64x64
                                     : TileId::kFp16Of64x64,
                          c, a, b, options, workspace, stream);
  }
}
template Status gemm_tc_04_pipelined(MatrixView<float>, MatrixView<const float>, MatrixView<const float>,
                                     const GemmOptions&, Workspace, cudaStream_t);
template Status gemm_tc_04_pipelined(MatrixView<__nv_bfloat16>, MatrixView<const __nv_bfloat16>,
                                     MatrixView<const __nv_bfloat16>, const GemmOptions&, Workspace,
                                     cudaStream_t);
template Status gemm_tc_04_pipelined(MatrixView<__half>, MatrixView<const __half>, MatrixView<const __half>,
                                     const GemmOptions&, Workspace, cudaStream_t);

}  // namespace rondo
