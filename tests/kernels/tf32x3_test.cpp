// The arithmetic of tf32x3, written once more for one result and with one variant: it says why the kernels
// add the products with small parts to the large product of their step.
#include <gtest/gtest.h>

#include <rondo/kernels/gemm/tensor_ladder/tensor_rungs.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tests/kernels/factor_kinds.h>
#include <rondo/tests/kernels/product_errors.h>
#include <rondo/tests/kernels/tf32_values.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/late_copies.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rondo::test {
namespace {

constexpr int64_t kStep = 8;

// `value` without the bits below the 24 that begin with the first bit of `largest`.
double truncated(double value, double largest) {
  const double unit = std::ldexp(1.0, std::ilogb(largest) - 23);
  return std::trunc(value / unit) * unit;
}

// sum + a[0] * b[0] + ... + a[7] * b[7] by a tensor core.
float tensor_sum(float sum, const float* a, const float* b) {
  double terms[kStep + 1] = {sum}, largest = std::abs(sum), exact = 0;
  for (int64_t i = 0; i < kStep; ++i) {
    terms[i + 1] = static_cast<double>(a[i]) * static_cast<double>(b[i]);
    largest = std::max(largest, std::abs(terms[i + 1]));
  }
  if (largest == 0) return 0;
  for (const double term : terms) exact += truncated(term, largest);
  return exact == 0 ? 0 : static_cast<float>(truncated(exact, exact));
}

struct Parts {
  std::vector<float> large, small;
};
Parts parts_of(const std::vector<float>& values) {
  Parts parts = {nearest_tf32(values), {}};
  for (size_t i = 0; i < values.size(); ++i) parts.small.push_back(values[i] - parts.large[i]);
  parts.small = nearest_tf32(parts.small);
  return parts;
}

// The sum of a[i] * b[i], of which there is a multiple of 8. `own_sum`: the products with small parts are not
// added to those of the large parts of the step, but to a sum of all steps that is added at the end.
float tf32x3_sum(const Parts& a, const Parts& b, bool own_sum) {
  float sum = 0, corrections = 0;
  for (size_t k = 0; k < a.large.size(); k += kStep) {
    float of_step = own_sum ? corrections : 0;
    of_step = tensor_sum(of_step, &a.small[k], &b.large[k]);
    of_step = tensor_sum(of_step, &a.large[k], &b.small[k]);
    if (own_sum) corrections = std::exchange(of_step, 0.0f);
    sum += tensor_sum(of_step, &a.large[k], &b.large[k]);
  }
  return sum + corrections;
}

std::vector<float> row_of(const std::vector<float>& matrix, int64_t row, int64_t k) {
  return {matrix.begin() + row * k, matrix.begin() + (row + 1) * k};
}

TEST(Tf32x3, KernelsHaveTheBitsOfTheDefinition) {
  if (std::string(platform()) != "cpu") GTEST_SKIP() << "GPUs keep more bits of a sum";
  if (!check_math("", Math::tf32x3).ok()) GTEST_SKIP() << "the device has no such products";
  constexpr int64_t kM = 20, kN = 12, kK = 72;
  const LateCopies late;  // a main loop that does not wait for its k-tiles would multiply others
  for (const FactorKind kind : kFactorKinds) {
    const auto row = [](int64_t i) { return i / kK; };
    const std::vector<float> a = factors(kind, kM * kK, 1, row), b = factors(kind, kN * kK, 2, row);
    GuardedBuffer<float> da(a), db(b), dc(kM * kN);
    const Stream stream;
    ASSERT_TRUE(ok(gemm_tc_04_pipelined<float>(
        matrix(dc.data(), kM, kN), matrix<const float>(da.data(), kM, kK),
        matrix<const float>(db.data(), kN, kK), {.transpose_b = true, .math = Math::tf32x3}, {}, stream)));
    std::vector<float> expected;
    for (int64_t i = 0; i < kM; ++i)
      for (int64_t j = 0; j < kN; ++j)
        expected.push_back(tf32x3_sum(parts_of(row_of(a, i, kK)), parts_of(row_of(b, j, kK)), false));
    EXPECT_TRUE(all_equal_bits(dc.download(), expected)) << name_of(kind);
  }
}

// A sum of their own would not make the result more accurate: the root mean square errors differ by less than
// an eighth, because the truncation of the large products is most of the error.
TEST(Tf32x3, CorrectionsInASumOfTheirOwnWouldNotBeMoreAccurate) {
  for (const FactorKind kind : kFactorKinds)
    for (const int64_t k : {8, 64, 512, 4096}) {
      const int64_t results = std::min<int64_t>(2000, 4096000 / k);
      const auto row = [&](int64_t i) { return i / k; };
      const std::vector<float> a = factors(kind, results * k, 1, row), b = factors(kind, results * k, 2, row);
      std::vector<float> with_step, own_sum;
      std::vector<double> exact, magnitude;
      for (int64_t i = 0; i < results; ++i) {
        const std::vector<float> x = row_of(a, i, k), y = row_of(b, i, k);
        const Parts of_x = parts_of(x), of_y = parts_of(y);
        with_step.push_back(tf32x3_sum(of_x, of_y, false));
        own_sum.push_back(tf32x3_sum(of_x, of_y, true));
        exact.push_back(0), magnitude.push_back(0);
        for (size_t j = 0; j < x.size(); ++j) {
          const double term = static_cast<double>(x[j]) * static_cast<double>(y[j]);
          exact.back() += term, magnitude.back() += std::abs(term);
        }
      }
      const RelativeErrors of_step = relative_errors(with_step, exact, magnitude),
                           of_own = relative_errors(own_sum, exact, magnitude);
      // Two sums that are wrong in the same way have similar errors, too.
      EXPECT_LE(of_step.largest, largest_sum_error(Math::tf32x3, true, k)) << name_of(kind) << ", k = " << k;
      const double ratio = of_own.root_mean_square / of_step.root_mean_square;
      EXPECT_GE(ratio, 7.0 / 8) << name_of(kind) << ", k = " << k;
      EXPECT_LE(ratio, 9.0 / 8) << name_of(kind) << ", k = " << k;
    }
}

}  // namespace
}  // namespace rondo::test
