// Idea:      load the next k-tile while the current one is multiplied. cp.async copies from global to shared
//            memory without registers, and its zero fill handles tails at no cost. For few results with a
//            long sum, several blocks share a tile and split k (split_k.cuh).
// Builds on: gemm_05_vectorised.
// Limit now: instruction issue on 9.0 and 10.0, the fp32 pipes on 8.0. Of about 276 instructions per two
//            steps of k, only about 20 are not multiply-adds.
// Counted:   0.0059 global requests of 16 bytes per lane, 0.11 wavefronts of shared memory per multiply-add,
//            no bank conflicts.
// Next:      tensor cores. They have a different arithmetic and therefore need a separate ladder.
#include <rondo/kernels/gemm/ladder/gemm_06_pipelined.h>

#include <rondo/kernels/gemm/ladder/gemm_variants.h>
#include <rondo/kernels/gemm/gemm_pipelined.cuh>

#include <utility>

namespace rondo {

Status launch_gemm_06(const char* name, const GemmArguments& g, const GemmConfig& config, Workspace workspace,
                      cudaStream_t stream) {
  if (g.m == 0 || g.n == 0) return {};
  switch (tile_infos()[static_cast<size_t>(config.tile)].math) {
    case Math::tf32:
      return launch_gemm_tf32(name, g, config, workspace, stream);
    case Math::tf32x3:
      return launch_gemm_tf32x3(name, g, config, workspace, stream);
    case Math::fp32:
      break;
  }
  return with_tile(config.tile,
                   [&]<class Tile>() { return launch_pipelined<Tile>(name, g, config, workspace, stream); });
}

Status gemm_06_pipelined(MatrixView<float> c, MatrixView<const float> a, MatrixView<const float> b,
                         const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  return run_gemm_06("gemm_06_pipelined", c, a, b, options, workspace, stream);
}

Status run_gemm_06(const char* name, MatrixView<float> c, MatrixView<const float> a,
                   MatrixView<const float> b, const GemmOptions& options, Workspace workspace,
                   cudaStream_t stream) {
  GemmArguments arguments;
  RONDO_RETURN_IF_ERROR(check_gemm(name, GemmWorkspace::parts, c, a, b, options, workspace, &arguments));
  DeviceProperties device;
  RONDO_RETURN_IF_ERROR(device_properties(&device));
  RONDO_RETURN_IF_ERROR(check_math(name, options.math));
  GemmConfig config = split_k({arguments.m, arguments.n, arguments.k});
  const auto [large, small] = options.math == Math::fp32 ? std::pair(TileId::k128x128, TileId::k64x64)
                              : options.math == Math::tf32
                                  ? std::pair(TileId::kTf32Of128x128, TileId::kTf32Of64x64)
                                  : std::pair(TileId::kTf32x3Of128x128, TileId::kTf32x3Of64x64);
  const int64_t bytes = shared_bytes(tile_infos()[static_cast<size_t>(large)], {order_of_a(arguments)});
  config.tile = bytes <= device.shared_bytes_per_block ? large : small;
  return launch_gemm_06(name, arguments, config, workspace, stream);
}

}  // namespace rondo
