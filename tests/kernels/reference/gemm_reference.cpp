#include <rondo/tests/kernels/reference/gemm_reference.h>

#include <cmath>

namespace rondo::test {

double activated(Activation activation, double x) {
  const double u = std::sqrt(8 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x < 0 ? 0 : x;
    case Activation::gelu:
      return x / 2 * std::erfc(-x / std::sqrt(2.0));
    case Activation::gelu_tanh:
      return x / (1 + std::exp(-u));
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
  }
  return x;
}

GemmReference gemm_reference(const GemmShape& shape, const std::vector<float>& a, int64_t a_stride,
                             const std::vector<float>& b, int64_t b_stride, const std::vector<float>& c,
                             int64_t c_stride, const GemmOptions& options, const std::vector<float>& bias) {
  const auto size = [](int64_t value) { return static_cast<size_t>(value); };
  const size_t m = size(shape.m), n = size(shape.n), k = size(shape.k);
  std::vector<double> packed_b(k * n);
  for (size_t l = 0; l < k; ++l)
    for (size_t j = 0; j < n; ++j)
      packed_b[l * n + j] =
          static_cast<double>(b[options.transpose_b ? j * size(b_stride) + l : l * size(b_stride) + j]);
  const double alpha = static_cast<double>(options.alpha), beta = static_cast<double>(options.beta);
  GemmReference result{std::vector<double>(m * n), std::vector<double>(m * n)};
  for (size_t i = 0; i < m; ++i) {
    double* const sums = result.values.data() + i * n;
    double* const magnitudes = result.magnitude.data() + i * n;
    for (size_t l = 0; l < k; ++l) {
      const double factor =
          static_cast<double>(a[options.transpose_a ? l * size(a_stride) + i : i * size(a_stride) + l]);
      const double* const row = packed_b.data() + l * n;
      for (size_t j = 0; j < n; ++j) {
        const double product = factor * row[j];
        sums[j] += product;
        magnitudes[j] += std::abs(product);
      }
    }
    for (size_t j = 0; j < n; ++j) {
      const double old = beta != 0 ? beta * static_cast<double>(c[i * size(c_stride) + j]) : 0;
      const double shift = bias.empty() ? 0 : static_cast<double>(bias[j]);
      sums[j] = alpha * sums[j] + old + shift;
      magnitudes[j] = std::abs(alpha) * magnitudes[j] + std::abs(old) + std::abs(shift);
      sums[j] = activated(options.activation, sums[j]);
    }
  }
  return result;
}

}  // namespace rondo::test
