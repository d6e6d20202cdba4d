#include <rondo/kernels/gemm/workspace_bound.h>

#include <rondo/kernels/gemm/gemm_plan.h>

#include <algorithm>

namespace rondo {

// The copies of a smaller product are not larger: copies_for_wgmma() compares m * n with a sum of terms that
// grow more slowly with m, n and k. So an operand that is not copied here is copied in no smaller product.
// Partial sums are erratic: the number of parts falls where m or n grows, and rises and falls with k.
int64_t gemm_workspace_bound(const GemmShape& shape, const GemmOptions& options, DType type) {
  const Arithmetic arithmetic = arithmetic_of(type, options.math);
  GemmPlan whole;
  whole.copies = copies_for_wgmma(shape, options.transpose_a ? Order::mn_major : Order::k_major,
                                  options.transpose_b ? Order::k_major : Order::mn_major, arithmetic);
  int64_t partials = most_partial_bytes();
  if (uses_tensor_cores(arithmetic) && arithmetic != Arithmetic::tf32x3)
    for (const TileInfo& tile : tile_infos())
      if (tile.id.instruction == Instruction::wgmma && tile.id.cluster_blocks == 1)
        partials = std::max(partials, stream_k_workspace_bytes(tile.id, kStreamKBlocks));
  const int64_t copies = workspace_bytes(shape, whole);
  return copies > INT64_MAX - partials ? INT64_MAX : copies + partials;
}

}  // namespace rondo
