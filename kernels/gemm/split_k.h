// Split-K: if a product has few results and a long sum, several blocks share one tile. Each block writes the
// sum over its part of k to the workspace. A second pass (partial_sums.cuh) adds the parts in order, so the
// result is the same in every run, and applies the epilogue.
#pragma once

#include <rondo/kernels/gemm/gemm_options.h>

#include <cstdint>

namespace rondo {

struct SplitK {
  int64_t splits = 1;       // number of parts of the sum over k
  int64_t k_per_split = 0;  // k per part; the last part may be shorter
};

// Splits the sum over k into parts. It depends only on the shape: the parts determine the order of the
// additions, and results must not depend on the device. `least_k`: the shortest part that pays for the second
// pass.
SplitK split_k(const GemmShape& shape, int64_t least_k = 256);

// The bytes of `count` parts of a rows x columns result: rows are padded to a multiple of 4 floats.
int64_t partials_bytes(int64_t rows, int64_t columns, int64_t count);

// The bytes of the parts of a product that split_k() splits; 0 for one part.
int64_t split_k_workspace_bytes(const GemmShape& shape);

// At least the bytes of the partial sums of every product that split_k() splits: 4 MiB.
int64_t most_partial_bytes();

}  // namespace rondo
