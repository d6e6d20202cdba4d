// The shape of a product of packed row-major matrices.
#pragma once

#include <rondo/kernels/gemm/gemm_options.h>

#include <string>

namespace rondo::bench {

struct ProductShape {
  GemmShape size;
  bool transpose_a = false, transpose_b = false;

  // "nt": op(a) = a, op(b) = b^T
  std::string layout() const { return std::string(transpose_a ? "t" : "n") + (transpose_b ? "t" : "n"); }
};

}  // namespace rondo::bench
