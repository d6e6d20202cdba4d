// Tiles by name, and products with a tile of the test's choice: gemm() chooses small tiles for small products
// on a large device.
#pragma once

#include <rondo/kernels/gemm/gemm.h>
#include <rondo/kernels/gemm/gemm_with_plan.h>
#include <rondo/tests/support/guarded_buffer.h>

#include <gtest/gtest.h>

#include <cstddef>

namespace rondo::test {

constexpr TileId fma_tile(int m, int n) { return {Instruction::fma, Arithmetic::fp32, m, n}; }
constexpr TileId vector_tile(int m, int n) { return {Instruction::vector_fma, Arithmetic::fp32, m, n}; }
constexpr TileId mma_tile(Arithmetic arithmetic, int m, int n) {
  return {Instruction::mma, arithmetic, m, n};
}
constexpr TileId wgmma_tile(Arithmetic arithmetic, int m, int n, int cluster_blocks = 1) {
  return {Instruction::wgmma, arithmetic, m, n, cluster_blocks};
}

inline int64_t bytes_of_parts(const GemmShape& shape, const GemmOptions&, DType) {
  return split_k_workspace_bytes(shape);
}

// A product with the tile. The parts of k are those of split_k(), whose workspace is `workspace`; or with
// stream_k_blocks > 0 it is by stream-K, with a workspace of its own.
template <class T, class C>
Status gemm_by_tile(const TileId& tile, MatrixView<C> c, MatrixView<const T> a, MatrixView<const T> b,
                    const GemmOptions& options, Workspace workspace, cudaStream_t stream,
                    int stream_k_blocks = 0) {
  GemmArgumentsOf<T, C> arguments;
  RONDO_RETURN_IF_ERROR(check_gemm("gemm", bytes_of_parts, c, a, b, options, workspace, &arguments));
  if (tile.instruction == Instruction::wgmma)
    RONDO_RETURN_IF_ERROR(check_wgmma_operands("gemm", problem_of(arguments)));
  GemmPlan plan;
  plan.tile = tile;
  plan.parts = split_k({arguments.m, arguments.n, arguments.k});
  plan.stream_k_blocks = stream_k_blocks;
  if (stream_k_blocks == 0) return gemm_with_plan("gemm", plan, arguments, workspace, stream);
  GuardedBuffer<std::byte> partial(stream_k_workspace_bytes(tile, stream_k_blocks));
  const Status status = gemm_with_plan("gemm", plan, arguments, partial.workspace(), stream);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_TRUE(partial.guards_intact());
  return status;
}

}  // namespace rondo::test
