#include <rondo/kernels/gemm/tensor_ladder/tensor_rungs.h>

namespace rondo {

std::span<const TensorRung> tensor_rungs() {
#define RONDO_RUNG(id, idea, function, wgmma) \
  { id, idea, function<float>, function<__nv_bfloat16>, function<__half>, wgmma }
  static constexpr TensorRung kRungs[] = {
      RONDO_RUNG("tc_01_fragments", "a warp multiplies fragments that it reads from global memory",
                 gemm_tc_01_fragments, false),
      RONDO_RUNG("tc_02_shared_tiles", "a block shares k-tiles, padded against bank conflicts",
                 gemm_tc_02_shared_tiles, false),
      RONDO_RUNG("tc_03_ldmatrix",
                 "ldmatrix reads four matrices at once; swizzled, copied 16 bytes at a time",
                 gemm_tc_03_ldmatrix, false),
      RONDO_RUNG("tc_04_pipelined", "k-tiles and fragments are loaded beside the products; split-K",
                 gemm_tc_04_pipelined, false),
      RONDO_RUNG("tc_05_wgmma", "a warpgroup multiplies from shared memory, which tensor maps fill",
                 gemm_tc_05_wgmma, true),
      RONDO_RUNG("tc_06_warp_specialized",
                 "one thread loads k-tiles, two warpgroups multiply; a ring of mbarriers",
                 gemm_tc_06_warp_specialized, true),
      RONDO_RUNG("tc_07_persistent", "a block computes many tiles, and loads for the next while it stores",
                 gemm_tc_07_persistent, true),
      RONDO_RUNG("tc_08_clusters", "two blocks load the columns that both need once, by multicast",
                 gemm_tc_08_clusters, true),
      RONDO_RUNG("tc_09_stream_k", "the last tiles are divided evenly among the blocks, in parts of k",
                 gemm_tc_09_stream_k, true),
  };
#undef RONDO_RUNG
  return kRungs;
}

}  // namespace rondo
