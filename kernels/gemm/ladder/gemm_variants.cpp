#include <rondo/kernels/gemm/ladder/gemm_variants.h>

namespace rondo {

std::span<const GemmVariant> gemm_variants() {
  static constexpr GemmVariant kVariants[] = {
      {"01_naive", "one thread a result, columns of threads walk down the rows", gemm_01_naive},
      {"02_coalesced", "neighbouring threads read neighbouring values", gemm_02_coalesced},
      {"03_shared_tiles", "a block shares tiles of A and B in shared memory", gemm_03_shared_tiles},
      {"04_register_tiles", "each thread keeps 8 x 8 results in registers", gemm_04_register_tiles},
      {"05_vectorised", "16-byte loads from global and from shared memory", gemm_05_vectorised},
      {"06_pipelined", "asynchronous copies beside the arithmetic; split-K", gemm_06_pipelined},
      {"gemm", "rung 06 with the tile that fits the shape", gemm},
  };
  return kVariants;
}

}  // namespace rondo
