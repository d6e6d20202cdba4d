// The ladder of tensor cores. Each rung has the contract of gemm(): for float matrices with Math::tf32, and
// for bfloat16 and float16 matrices with results of their type. README.md has the table for readers.
#pragma once

#include <rondo/kernels/gemm/gemm.h>

#include <span>

namespace rondo {

// T: float, __nv_bfloat16 or __half.
#define RONDO_TENSOR_RUNG(name)                                                            \
  template <class T>                                                                       \
  [[nodiscard]] Status name(MatrixView<T> c, MatrixView<const T> a, MatrixView<const T> b, \
                            const GemmOptions& options, Workspace workspace, cudaStream_t stream)
RONDO_TENSOR_RUNG(gemm_tc_01_fragments);
RONDO_TENSOR_RUNG(gemm_tc_02_shared_tiles);
RONDO_TENSOR_RUNG(gemm_tc_03_ldmatrix);
// gemm_06_pipelined with a tile for tensor cores. It splits long sums, and needs
// split_k_workspace_bytes() (split_k.h).
RONDO_TENSOR_RUNG(gemm_tc_04_pipelined);
// The following need compute capability 9.0, and operands that tensor maps can describe: gemm_plan.h.
RONDO_TENSOR_RUNG(gemm_tc_05_wgmma);
RONDO_TENSOR_RUNG(gemm_tc_06_warp_specialized);
RONDO_TENSOR_RUNG(gemm_tc_07_persistent);
RONDO_TENSOR_RUNG(gemm_tc_08_clusters);
RONDO_TENSOR_RUNG(gemm_tc_09_stream_k);  // needs gemm_tc_09_workspace_bytes()
#undef RONDO_TENSOR_RUNG

// On every device. The contents do not matter.
int64_t gemm_tc_09_workspace_bytes(const GemmShape& shape);

struct TensorRung {
  template <class T>
  using Run = Status (*)(MatrixView<T> c, MatrixView<const T> a, MatrixView<const T> b,
                         const GemmOptions& options, Workspace workspace, cudaStream_t stream);
  const char* id;    // "tc_01_fragments"
  const char* idea;  // a short description
  Run<float> tf32;
  Run<__nv_bfloat16> bf16;
  Run<__half> fp16;
  bool uses_wgmma;  // needs compute capability 9.0, and operands that wgmma supports (gemm_plan.h)
};

// In reading order.
std::span<const TensorRung> tensor_rungs();

}  // namespace rondo
