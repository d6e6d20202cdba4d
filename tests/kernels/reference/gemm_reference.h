// The matrix product in double precision, by its definition.
#pragma once

#include <rondo/kernels/gemm/gemm.h>

#include <cstdint>
#include <vector>

namespace rondo::test {

struct GemmReference {
  std::vector<double> values;     // m x n, packed
  std::vector<double>
      magnitude;  // the same sum over absolute values, to which rounding errors are proportional
};

double activated(Activation activation, double x);

// The arrays begin at the data of the views passed to gemm() and have the same strides.
GemmReference gemm_reference(const GemmShape& shape, const std::vector<float>& a, int64_t a_stride,
                             const std::vector<float>& b, int64_t b_stride, const std::vector<float>& c,
                             int64_t c_stride, const GemmOptions& options, const std::vector<float>& bias);

}  // namespace rondo::test
