// Matrices for tests of operations on rows, in any type of elements.
#pragma once

#include <gtest/gtest.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/narrow.h>
#include <rondo/tests/support/status_checks.h>

#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace rondo::test {

using Doubles = std::vector<double>;

// Around the borders of teams (128 and 1024 columns), of parts (8192 columns) and of accesses (8 elements),
// and vocabularies.
inline const std::vector<std::pair<int64_t, int64_t>> kRowShapes = {
    {1, 1},    {3, 1},    {70, 2},   {33, 10},  {40, 16},  {5, 127},  {33, 128},  {3, 129},   {9, 1000},
    {4, 1024}, {2, 1025}, {3, 2047}, {1, 4096}, {2, 8192}, {2, 8193}, {1, 32000}, {2, 50257}, {1, 262144}};

// The error of rounding to T, from a float that is nearly exact.
template <class T>
double rounding_of(double exact) {
  if constexpr (std::is_same_v<T, float>)
    return std::abs(exact) * 0x1p-24 + 0x1p-149;
  else
    return rounding_error<T>(exact) * 1.001;
}

template <class T>
struct Rows {
  int64_t rows, cols, stride;
  std::vector<T> values;
  int64_t offset = 0;     // of the first element from its alignment
  bool in_place = false;  // whether changed() writes to the values themselves

  static Rows drawn(int64_t rows, int64_t cols, int64_t stride, Random& random, double deviation,
                    double mean = 0) {
    Rows all = {rows, cols, stride, {}};
    for (int64_t i = 0; i < rows * stride; ++i)
      all.values.push_back(static_cast<T>(static_cast<float>(mean + deviation * random.normal())));
    return all;
  }
  static Rows filled(int64_t rows, int64_t cols, double value) {
    const auto size = static_cast<size_t>(rows * cols);
    return {rows, cols, cols, std::vector<T>(size, static_cast<T>(static_cast<float>(value)))};
  }
  T& at(int64_t i, int64_t j) { return values[static_cast<size_t>(i * stride + j)]; }
  Doubles row(int64_t i) const {
    Doubles all;
    for (int64_t j = 0; j < cols; ++j)
      all.push_back(static_cast<double>(static_cast<float>(values[static_cast<size_t>(i * stride + j)])));
    return all;
  }

  // The output of operation(to, from), where `from` has these values.
  template <class Operation>
  Rows changed(Operation operation) const {
    GuardedBuffer<T> from(values, offset), apart(in_place ? 0 : rows * stride, offset);
    GuardedBuffer<T>& to = in_place ? from : apart;
    const MatrixView<T> output = to.matrix(rows, cols, stride);
    EXPECT_TRUE(ok(operation(output, std::as_const(from).matrix(rows, cols, stride))));
    Rows result = *this;
    result.values = to.download();
    return result;
  }
};

// FNV-1a of the bits, after those of `hash`.
template <class T>
uint64_t hash_of(const std::vector<T>& values, uint64_t hash) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (size_t i = 0; i < values.size() * sizeof(T); ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
  return hash;
}

}  // namespace rondo::test
