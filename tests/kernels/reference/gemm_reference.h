// The matrix product in double precision, by its definition.
#pragma once

#include <rondo/kernels/gemm/gemm.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace rondo::test {

struct GemmReference {
  std::vector<double> values;     // m x n, packed
  std::vector<double>
      magnitude;  // the same sum over absolute values, to which rounding errors are proportional
};

// The arrays begin at the data of the views passed to gemm() and have the same strides.
inline GemmReference gemm_reference(const GemmShape& shape, const std::vector<float>& a, int64_t a_stride,
                                    const std::vector<float>& b, int64_t b_stride,
                                    const std::vector<float>& c, int64_t c_stride, const GemmOptions& options,
                                    const std::vector<float>& bias) {
  GemmReference result;
  for (int64_t i = 0; i < shape.m; ++i) {
    for (int64_t j = 0; j < shape.n; ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t l = 0; l < shape.k; ++l) {
        const double product =
            static_cast<double>(
                a[static_cast<size_t>(options.transpose_a ? l * a_stride + i : i * a_stride + l)]) *
            static_cast<double>(
                b[static_cast<size_t>(options.transpose_b ? j * b_stride + l : l * b_stride + j)]);
        sum += product;
        magnitude += std::abs(product);
      }
      sum *= static_cast<double>(options.alpha);
      magnitude *= std::abs(static_cast<double>(options.alpha));
      if (options.beta != 0) {
        const double old =
            static_cast<double>(options.beta) * static_cast<double>(c[static_cast<size_t>(i * c_stride + j)]);
        sum += old;
        magnitude += std::abs(old);
      }
      if (!bias.empty()) {
        sum += static_cast<double>(bias[static_cast<size_t>(j)]);
        magnitude += std::abs(static_cast<double>(bias[static_cast<size_t>(j)]));
      }
      result.values.push_back(options.relu && sum < 0 ? 0 : sum);
      result.magnitude.push_back(magnitude);
    }
  }
  return result;
}

}  // namespace rondo::test
