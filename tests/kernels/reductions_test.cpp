// Reductions over rows and columns against double precision, and the bits of 16-bit types against those of
// float32.
#include <gtest/gtest.h>

#include <rondo/kernels/reduce/reduce.h>
#include <rondo/tests/kernels/narrow_operands.h>
#include <rondo/tests/kernels/row_operands.h>
#include <rondo/tests/support/random_order.h>

#include <cmath>
#include <numeric>

namespace rondo::test {
namespace {

constexpr ReduceOperator kOperators[] = {
    ReduceOperator::sum,     ReduceOperator::mean,    ReduceOperator::max,     ReduceOperator::min,
    ReduceOperator::l1_norm, ReduceOperator::l2_norm, ReduceOperator::max_norm};

// The result in double, NaN if a value is.
double exact(ReduceOperator op, const Doubles& values) {
  double sum = 0, magnitude = 0, squares = 0, most = -kInfinity, least = kInfinity, largest = 0;
  for (const double x : values) {
    if (std::isnan(x)) return x;
    sum += x, magnitude += std::abs(x), squares += x * x;
    most = std::max(most, x), least = std::min(least, x), largest = std::max(largest, std::abs(x));
  }
  switch (op) {
    case ReduceOperator::sum:
      return sum;
    case ReduceOperator::mean:
      return sum / static_cast<double>(values.size());
    case ReduceOperator::max:
      return most;
    case ReduceOperator::min:
      return least;
    case ReduceOperator::l1_norm:
      return magnitude;
    case ReduceOperator::l2_norm:
      return std::sqrt(squares);
    case ReduceOperator::max_norm:
      return largest;
  }
  return 0;
}

enum class Over { rows, columns };

// The documented length of the longest chain of additions.
double chain(Over over, size_t values) {
  if (over == Over::rows) return 20 + static_cast<double>(values) / 0x1p18;
  return values <= 512 ? 48 : values <= 1 << 18 ? 96 : 144;
}

double bound(ReduceOperator op, Over over, const Doubles& values) {
  double magnitude = 0;
  for (const double x : values) magnitude += std::abs(x);
  const double of_sum = chain(over, values.size()) * 0x1p-24 * magnitude;
  switch (op) {
    case ReduceOperator::sum:
    case ReduceOperator::l1_norm:
      return of_sum;
    case ReduceOperator::mean:
      return (of_sum + 0x1p-24 * magnitude) / static_cast<double>(values.size());
    case ReduceOperator::l2_norm:
      return 0x1p-24 * exact(op, values) * 1.0001 + 0x1p-149;
    default:
      return 0;
  }
}

int64_t exact_index(const Doubles& values, bool largest) {
  int64_t best = -1;
  for (size_t j = 0; j < values.size(); ++j) {
    const double x = values[j];
    if (std::isnan(x)) return static_cast<int64_t>(j);
    if (best < 0 || (largest ? x > values[static_cast<size_t>(best)] : x < values[static_cast<size_t>(best)]))
      best = static_cast<int64_t>(j);
  }
  return best;
}

template <class T>
struct Reductions {
  Over over;
  const Rows<T>& x;
  const Stream stream = {};
  const GuardedBuffer<T> memory{x.values, x.offset};
  GuardedBuffer<unsigned char> scratch{over == Over::rows ? reduce_rows_workspace_bytes(x.rows, x.cols)
                                                          : reduce_columns_workspace_bytes(x.rows, x.cols)};

  int64_t results() const { return over == Over::rows ? x.rows : x.cols; }
  MatrixView<const T> view() const { return memory.matrix(x.rows, x.cols, x.stride); }
  Doubles values(int64_t i) const {
    Doubles all;
    for (int64_t j = 0; j < (over == Over::rows ? x.cols : x.rows); ++j)
      all.push_back(static_cast<double>(static_cast<float>(
          x.values[static_cast<size_t>(over == Over::rows ? i * x.stride + j : j * x.stride + i)])));
    return all;
  }
  Floats reduce(ReduceOperator op) {
    GuardedBuffer<float> y(results(), x.offset);
    EXPECT_TRUE(ok(over == Over::rows ? reduce_rows(y.view(), view(), op, scratch.workspace(), stream)
                                      : reduce_columns(y.view(), view(), op, scratch.workspace(), stream)));
    return y.download();
  }
  std::vector<int64_t> index(bool largest) {
    GuardedBuffer<int64_t> y(results());
    const Workspace w = scratch.workspace();
    EXPECT_TRUE(ok(over == Over::rows ? largest ? argmax_rows(y.view(), view(), w, stream)
                                                : argmin_rows(y.view(), view(), w, stream)
                   : largest ? argmax_columns(y.view(), view(), w, stream)
                                      : argmin_columns(y.view(), view(), w, stream)));
    return y.download();
  }

  void expect_all() {
    std::vector<Doubles> of;
    for (int64_t i = 0; i < results(); ++i) of.push_back(values(i));
    for (const ReduceOperator op : kOperators) {
      SCOPED_TRACE(concat("operator ", static_cast<int>(op)));
      Doubles want;
      for (const Doubles& each : of) want.push_back(exact(op, each));
      Floats got = reduce(op);
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < got.size(); ++i)
        if (std::isnan(want[i]) && std::isnan(got[i])) want[i] = got[i] = 0;
      EXPECT_TRUE(all_within(got, want, [&](size_t i) { return bound(op, over, of[i]); }));
    }
    for (const bool largest : {true, false}) {
      std::vector<int64_t> want;
      for (const Doubles& each : of) want.push_back(exact_index(each, largest));
      EXPECT_EQ(index(largest), want) << (largest ? "argmax" : "argmin");
    }
  }
};

template <class T>
void expect_drawn(Over over, uint64_t seed) {
  Random random(seed);
  std::vector<std::pair<int64_t, int64_t>> shapes = kRowShapes;  // results, values
  shapes.insert(shapes.end(),
                {{3, 0}, {0, 3}, {17, 31}, {65, 33}, {8, 511}, {100, 512}, {9, 513}, {2, 16'385}});
  for (const auto& [results, values] : shapes)
    for (int draw = 0; draw < (values > 5000 ? 1 : 4); ++draw) {
      const int64_t rows = over == Over::rows ? results : values,
                    cols = over == Over::rows ? values : results;
      const bool aligned = draw % 2 == 0;
      const int64_t stride = aligned ? (cols + 7) / 8 * 8 : cols + random.below(10);
      Rows<T> x = Rows<T>::drawn(rows, cols, stride, random, 1, draw == 3 ? 5 : 0);
      x.offset = aligned ? 0 : random.below(9);
      // Few distinct values, so that the largest is there more than once.
      if (draw == 1)
        for (T& value : x.values) value = static_cast<T>(std::floor(static_cast<float>(value)));
      SCOPED_TRACE(concat(rows, " x ", cols, ", stride ", stride, ", offset ", x.offset));
      Reductions<T>{over, x}.expect_all();
    }
}

TEST(ReduceRows, Floats) { expect_drawn<float>(Over::rows, 1); }
TEST(ReduceRows, Bfloat16) { expect_drawn<__nv_bfloat16>(Over::rows, 2); }
TEST(ReduceRows, Float16) { expect_drawn<__half>(Over::rows, 3); }
TEST(ReduceColumns, Floats) { expect_drawn<float>(Over::columns, 4); }
TEST(ReduceColumns, Bfloat16) { expect_drawn<__nv_bfloat16>(Over::columns, 5); }
TEST(ReduceColumns, Float16) { expect_drawn<__half>(Over::columns, 6); }

// NaN, infinities and both zeros at each place of a row: first, last, in a tail, in the second part.
TEST(Reductions, SpecialValues) {
  Random random(7);
  for (const Over over : {Over::rows, Over::columns})
    for (const int64_t values : {1, 7, 40, 130, 1030, 8200})
      for (const float special : {NAN, -NAN, kInfinity, -kInfinity, 0.0f, -0.0f, 1e38f, 1e-45f})
        for (const int64_t at : {int64_t{0}, values / 2, values - 1}) {
          const int64_t rows = over == Over::rows ? 3 : values, cols = over == Over::rows ? values : 3;
          Rows<float> x = Rows<float>::drawn(rows, cols, cols, random, 1);
          (over == Over::rows ? x.at(1, at) : x.at(at, 1)) = special;
          if (values > 1) (over == Over::rows ? x.at(1, values / 3) : x.at(values / 3, 1)) = special;
          SCOPED_TRACE(concat(rows, " x ", cols, ", ", special, " at ", at));
          Reductions<float>{over, x}.expect_all();
        }
}

TEST(Reductions, ZerosHaveAnOrderAndNanHasOneForm) {
  for (const Over over : {Over::rows, Over::columns}) {
    Rows<float> x = {
        over == Over::rows ? 1 : 2, over == Over::rows ? 2 : 1, over == Over::rows ? 2 : 1, {0.0f, -0.0f}};
    const auto indices = [&](bool largest) { return Reductions<float>{over, x}.index(largest)[0]; };
    EXPECT_TRUE(all_equal_bits(Reductions<float>{over, x}.reduce(ReduceOperator::max), {0.0f}));
    EXPECT_TRUE(all_equal_bits(Reductions<float>{over, x}.reduce(ReduceOperator::min), {-0.0f}));
    EXPECT_EQ(indices(false), 0);
    x.values = {-0.0f, 0.0f};
    EXPECT_EQ(indices(true), 0);
    x.values = {1.0f, -NAN};
    for (const ReduceOperator op : {ReduceOperator::max, ReduceOperator::min, ReduceOperator::max_norm})
      EXPECT_TRUE(
          all_equal_bits(Reductions<float>{over, x}.reduce(op), {__builtin_bit_cast(float, 0x7FC00000u)}));
  }
}

// Squares of these are infinite or 0 in float.
TEST(Reductions, TheL2NormNeitherOverflowsNorUnderflows) {
  for (const Over over : {Over::rows, Over::columns})
    for (const double value : {1e30, 1e-30, 3e38, 1e-44}) {
      const Rows<float> x =
          Rows<float>::filled(over == Over::rows ? 2 : 9000, over == Over::rows ? 9000 : 2, value);
      const double want = static_cast<double>(static_cast<float>(value)) * std::sqrt(9000.0);
      const double expected = want > 3.5e38 ? kInfinity : want;
      EXPECT_TRUE(all_near(Reductions<float>{over, x}.reduce(ReduceOperator::l2_norm), {expected, expected},
                           0x1p-149, 0x1p-23));
    }
}

TEST(Reductions, TenMillionValues) {
  constexpr int64_t kSize = 10'000'019;
  Rows<float> x = {1, kSize, kSize, {}};
  for (int64_t j = 0; j < kSize; ++j) x.values.push_back(static_cast<float>(j * 7919 % 1000) - 500);
  x.values[9'999'999] = x.values[10'000'000] = 501;
  for (const Over over : {Over::rows, Over::columns}) {
    if (over == Over::columns) x.rows = kSize, x.cols = x.stride = 1;
    Reductions<float> reductions{over, x};
    const Doubles values = reductions.values(0);
    for (const ReduceOperator op : kOperators)
      EXPECT_TRUE(all_near(reductions.reduce(op), {exact(op, values)}, bound(op, over, values)))
          << static_cast<int>(op);
    EXPECT_EQ(reductions.index(true)[0], 9'999'999);
    EXPECT_EQ(reductions.index(false)[0], exact_index(values, false));
  }
}

// 1172 blocks, then 3, then 1: what a launch writes must be apart from what its other blocks still read.
TEST(ReduceColumns, OfThreeLaunchesInAnyOrderOfTheBlocks) {
  Random random(10);
  const Rows<float> x = Rows<float>::drawn(600'000, 1, 1, random, 1);
  Reductions<float> reductions{Over::columns, x};
  const Floats want = reductions.reduce(ReduceOperator::sum);
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const RandomOrder order(seed);
    EXPECT_TRUE(all_equal_bits(reductions.reduce(ReduceOperator::sum), want)) << seed;
  }
}

// The order of the additions, of which all bits follow: the same on every device, with GPU's threads and with
// vectors, and for every alignment (alignment_test).
TEST(Reductions, BitsAreThoseOfEveryDevice) {
  uint64_t hash = 14695981039346656037u;
  for (const Over over : {Over::rows, Over::columns})
    for (const auto& [results, values] : kRowShapes) {
      Random random(static_cast<uint64_t>(values));
      const int64_t rows = over == Over::rows ? results : values,
                    cols = over == Over::rows ? values : results;
      const Rows<float> x = Rows<float>::drawn(rows, cols, cols, random, 1);
      for (const ReduceOperator op : kOperators) hash = hash_of(Reductions<float>{over, x}.reduce(op), hash);
    }
  EXPECT_EQ(hash, 523006003886034222u);
}

// The bits of a row do not depend on the other rows, nor those of a column on the other columns.
TEST(Reductions, ResultsDoNotDependOnTheOthers) {
  Random random(9);
  for (const Over over : {Over::rows, Over::columns})
    for (const int64_t values : {9, 100, 700, 9000}) {
      const int64_t rows = over == Over::rows ? 37 : values, cols = over == Over::rows ? values : 37;
      const Rows<float> all = Rows<float>::drawn(rows, cols, cols, random, 1);
      const Floats together = Reductions<float>{over, all}.reduce(ReduceOperator::sum);
      for (const int64_t i : {int64_t{0}, int64_t{20}, int64_t{36}}) {
        Rows<float> one = {
            over == Over::rows ? 1 : rows, over == Over::rows ? cols : 1, over == Over::rows ? cols : 1, {}};
        for (int64_t j = 0; j < values; ++j)
          one.values.push_back(
              all.values[static_cast<size_t>(over == Over::rows ? i * cols + j : j * cols + i)]);
        const Floats alone = Reductions<float>{over, one}.reduce(ReduceOperator::sum);
        EXPECT_TRUE(all_equal_bits(alone, {together[static_cast<size_t>(i)]})) << values << ", " << i;
      }
    }
}

TEST(Reductions, BadArguments) {
  const Stream stream;
  GuardedBuffer<float> x(20), y(5);
  GuardedBuffer<int64_t> index(5);
  const MatrixView<float> m = matrix(x.data(), 4, 5);
  const auto sum = ReduceOperator::sum, wrong = static_cast<ReduceOperator>(7);
  EXPECT_TRUE(
      refused(reduce_rows(y.view(), m, sum, {}, stream), "reduce_rows: y.size is 5, must be x.rows = 4"));
  EXPECT_TRUE(refused(reduce_columns({y.data(), 4}, m, sum, {}, stream),
                      "reduce_columns: y.size is 4, must be x.cols = 5"));
  EXPECT_TRUE(
      refused(reduce_columns(y.view(), m, wrong, {}, stream), "reduce_columns: op is the enumerator 7"));
  EXPECT_TRUE(refused(argmax_rows(index.view(), m, {}, stream), "argmax_rows: index.size is 5"));
  EXPECT_TRUE(refused(argmin_columns({index.data(), 4}, m, {}, stream), "argmin_columns: index.size is 4"));
  EXPECT_TRUE(refused(reduce_rows({y.data(), 1}, MatrixView<float>{x.data(), 1, 8193}, sum, {}, stream),
                      "the workspace has 0 bytes, must have at least 16"));
  const MatrixView<float> long_row = {x.data(), 1, int64_t{1} << 31};
  GuardedBuffer<unsigned char> scratch(reduce_rows_workspace_bytes(1, long_row.cols));
  EXPECT_TRUE(refused(argmax_rows({index.data(), 1}, long_row, scratch.workspace(), stream),
                      "argmax_rows: x.cols is 2147483648, must be at most 2147483647 for an index"));
}

template <class Narrow>
class NarrowReductions : public NarrowOperands<Narrow> {};
TYPED_TEST_SUITE(NarrowReductions, NarrowTypes, NameOfType);

// The same values in both types have the same results, which are floats and indices.
TYPED_TEST(NarrowReductions, HaveTheBitsOfFloat32) {
  for (int draw = 0; draw < 40; ++draw) {
    this->aligned = draw % 2 == 0;
    const int64_t rows = this->side(1200), cols = this->side(300), stride = cols + this->random.below(9);
    auto x = this->input(rows * stride);
    const auto op = kOperators[static_cast<size_t>(draw) % std::size(kOperators)];
    const auto results = [&]<class T>(T) {
      GuardedBuffer<float> of_rows(rows), of_columns(cols);
      GuardedBuffer<int64_t> most(rows), least(rows), highest(cols), lowest(cols);
      GuardedBuffer<unsigned char> scratch(
          std::max(reduce_rows_workspace_bytes(rows, cols), reduce_columns_workspace_bytes(rows, cols)));
      const Workspace w = scratch.workspace();
      const MatrixView<const T> view = {of<T>(x).data(), rows, cols, stride};
      EXPECT_TRUE(ok(reduce_rows(of_rows.view(), view, op, w, this->stream)));
      EXPECT_TRUE(ok(reduce_columns(of_columns.view(), view, op, w, this->stream)));
      EXPECT_TRUE(ok(argmax_rows(most.view(), view, w, this->stream)));
      EXPECT_TRUE(ok(argmin_rows(least.view(), view, w, this->stream)));
      EXPECT_TRUE(ok(argmax_columns(highest.view(), view, w, this->stream)));
      EXPECT_TRUE(ok(argmin_columns(lowest.view(), view, w, this->stream)));
      std::vector<int64_t> indices;
      for (const auto* each : {&most, &least, &highest, &lowest})
        for (const int64_t i : each->download()) indices.push_back(i);
      Floats values = of_rows.download();
      for (const float value : of_columns.download()) values.push_back(value);
      return std::pair(values, indices);
    };
    const auto wide = results(float{}), narrow = results(TypeParam{});
    EXPECT_TRUE(all_equal_bits(narrow.first, wide.first)) << rows << " x " << cols;
    EXPECT_EQ(narrow.second, wide.second) << rows << " x " << cols;
  }
}

}  // namespace
}  // namespace rondo::test
