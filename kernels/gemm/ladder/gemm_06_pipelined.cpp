// Idea:      load the next k-tile while the current one is multiplied. cp.async copies from global to shared
//            memory without registers, and its zero fill handles tails at no cost. For few results with a
//            long sum, several blocks share a tile and split k (split_k.h).
// Builds on: gemm_05_vectorised. The kernel is in fma/pipelined.cuh; gemm() chooses among its tiles, this
//            rung uses 128 x 128, or 64 x 64 if a block has too little shared memory.
// Limit now: instruction issue on 9.0 and 10.0, the fp32 pipes on 8.0. Of about 276 instructions per two
//            steps of k, only about 20 are not multiply-adds.
// Counted:   0.0059 global requests of 16 bytes per lane, 0.11 wavefronts of shared memory per multiply-add,
//            no bank conflicts.
// Next:      tensor cores. They have a different arithmetic and therefore need a separate ladder.
#include <rondo/kernels/gemm/ladder/gemm_variants.h>
#include <rondo/kernels/gemm/ladder/pipelined_rung.h>

namespace rondo {

Status gemm_06_pipelined(MatrixView<float> c, MatrixView<const float> a, MatrixView<const float> b,
                         const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  return run_pipelined_rung("gemm_06_pipelined", c, a, b, options, workspace, stream);
}

}  // namespace rondo
