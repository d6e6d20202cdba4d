// The table of the ladder's rungs, which tests and benchmarks read. README.md has the same table for readers.
#pragma once

#include <rondo/kernels/gemm/gemm.h>

#include <span>

namespace rondo {

struct GemmVariant {
  const char* id;    // "01_naive"
  const char* idea;  // a short description
  Status (*run)(MatrixView<float> c, MatrixView<const float> a, MatrixView<const float> b,
                const GemmOptions& options, Workspace workspace, cudaStream_t stream);
};

// In reading order. The last entry is gemm() itself.
std::span<const GemmVariant> gemm_variants();

// The rungs. Each has the contract of gemm(), for every size. The rungs before 06 need no workspace.
#define RONDO_GEMM_RUNG(name)                                                                          \
  [[nodiscard]] Status name(MatrixView<float> c, MatrixView<const float> a, MatrixView<const float> b, \
                            const GemmOptions& options, Workspace workspace, cudaStream_t stream)
RONDO_GEMM_RUNG(gemm_01_naive);
RONDO_GEMM_RUNG(gemm_02_coalesced);
RONDO_GEMM_RUNG(gemm_03_shared_tiles);
RONDO_GEMM_RUNG(gemm_04_register_tiles);
RONDO_GEMM_RUNG(gemm_05_vectorised);
RONDO_GEMM_RUNG(gemm_06_pipelined);
#undef RONDO_GEMM_RUNG

}  // namespace rondo
