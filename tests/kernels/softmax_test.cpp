// Softmax and its logarithm against their definitions in double precision, with their gradients.
#include <gtest/gtest.h>

#include <rondo/kernels/softmax/softmax.h>
#include <rondo/tests/kernels/narrow_operands.h>
#include <rondo/tests/kernels/row_operands.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/random_order.h>

#include <cmath>
#include <functional>

namespace rondo::test {
namespace {

enum class Form { softmax, log_softmax };
constexpr Form kForms[] = {Form::softmax, Form::log_softmax};

template <class T>
Status forward(Form form, MatrixView<T> y, MatrixView<const T> x, Workspace workspace, cudaStream_t stream) {
  return form == Form::softmax ? softmax(y, x, workspace, stream) : log_softmax(y, x, workspace, stream);
}
template <class T>
Status backward(Form form, MatrixView<T> dx, MatrixView<const T> dy, MatrixView<const T> y,
                Workspace workspace, cudaStream_t stream) {
  return form == Form::softmax ? softmax_backward(dx, dy, y, workspace, stream)
                               : log_softmax_backward(dx, dy, y, workspace, stream);
}

// The logarithm of the softmax of a row.
Doubles log_softmax_of(const Doubles& x) {
  const double most = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const double value : x) sum += std::exp(value - most);
  Doubles y;
  for (const double value : x) y.push_back(value - most - std::log(sum));
  return y;
}

template <class T>
class SoftmaxTest : public testing::Test {
 protected:
  Rows<T> forward_of(Form form, const Rows<T>& x) {
    GuardedBuffer<unsigned char> workspace(softmax_workspace_bytes(x.rows, x.cols));
    return x.changed([&](MatrixView<T> to, MatrixView<const T> from) {
      return forward<T>(form, to, from, workspace.workspace(), stream);
    });
  }
  Rows<T> backward_of(Form form, const Rows<T>& dy, const Rows<T>& y) {
    GuardedBuffer<unsigned char> workspace(softmax_workspace_bytes(y.rows, y.cols));
    const GuardedBuffer<T> dev_y(y.values, 1);
    return dy.changed([&](MatrixView<T> to, MatrixView<const T> from) {
      return backward<T>(form, to, from, dev_y.matrix(y.rows, y.cols, y.stride), workspace.workspace(),
                         stream);
    });
  }
  void expect_forward(Form form, const Rows<T>& x) {
    const Rows<T> got = forward_of(form, x);
    for (int64_t i = 0; i < x.rows; ++i) {
      const Doubles from = x.row(i), of_log = log_softmax_of(from);
      const double most = *std::max_element(from.begin(), from.end());
      Doubles want = of_log;
      if (form == Form::softmax)
        for (double& value : want) value = std::exp(value);
      ASSERT_TRUE(all_within(got.row(i), want,
                             [&](size_t j) {
                               const double relative =
                                   form == Form::softmax
                                       ? want[j] * (0x1p-21 + (most - from[j]) * 0x1p-24) + 0x1p-147
                                       : (1 + std::abs(want[j])) * 0x1p-22;
                               return relative + rounding_of<T>(want[j]);
                             }))
          << "row " << i;
    }
  }
  void expect_backward(Form form, const Rows<T>& dy, const Rows<T>& y) {
    const Rows<T> got = backward_of(form, dy, y);
    for (int64_t i = 0; i < y.rows; ++i) {
      const Doubles g = dy.row(i), p = y.row(i);
      double sum = 0, magnitude = 0;
      for (size_t j = 0; j < g.size(); ++j) {
        const double term = form == Form::softmax ? g[j] * p[j] : g[j];
        sum += term, magnitude += std::abs(term);
      }
      Doubles want;
      for (size_t j = 0; j < g.size(); ++j)
        want.push_back(form == Form::softmax ? p[j] * (g[j] - sum) : g[j] - std::exp(p[j]) * sum);
      ASSERT_TRUE(all_within(got.row(i), want,
                             [&](size_t j) {
                               const double factor = form == Form::softmax ? p[j] : std::exp(p[j]);
                               return rounding_of<T>(want[j]) + factor * magnitude * 0x1p-20 +
                                      0x1p-22 * std::abs(g[j]) + 0x1p-147;
                             }))
          << "row " << i;
    }
  }

  Random random{5};
  Stream stream;
};
using Types = testing::Types<float, __nv_bfloat16, __half>;
TYPED_TEST_SUITE(SoftmaxTest, Types, NameOfType);

// Around the borders of the three kinds of teams, of parts and of accesses, up to vocabularies.
TYPED_TEST(SoftmaxTest, MatchesTheDefinitionAtTheBordersOfItsTiles) {
  for (const auto& [rows, cols] : kRowShapes)
    for (const Form form : kForms) {
      SCOPED_TRACE(concat(rows, " x ", cols));
      const auto x = Rows<TypeParam>::drawn(rows, cols, cols + rows % 3, this->random, 3);
      this->expect_forward(form, x);
      const auto dy = Rows<TypeParam>::drawn(rows, cols, cols, this->random, 1);
      this->expect_backward(form, dy, this->forward_of(form, x));
    }
}

TYPED_TEST(SoftmaxTest, MatchesTheDefinitionOfDrawnShapes) {
  for (int draw = 0; draw < 60; ++draw) {
    const int64_t cols = 1 + this->random.below(draw < 20 ? 140 : draw < 50 ? 1500 : 20000);
    const int64_t rows = 1 + this->random.below(cols < 200 ? 70 : 4);
    const int64_t stride = cols + this->random.below(3) * this->random.below(20);
    const Form form = kForms[draw % 2];
    SCOPED_TRACE(concat(rows, " x ", cols, ", stride ", stride));
    auto x = Rows<TypeParam>::drawn(rows, cols, stride, this->random, 0.1 + 10 * this->random.uniform());
    x.offset = this->random.below(9), x.in_place = draw % 3 == 0;
    this->expect_forward(form, x);
    auto dy = Rows<TypeParam>::drawn(rows, cols, stride, this->random, 1);
    dy.offset = x.offset, dy.in_place = x.in_place;
    this->expect_backward(form, dy, this->forward_of(form, x));
  }
}

TYPED_TEST(SoftmaxTest, HugeValuesDoNotOverflow) {
  const double huge = std::is_same_v<TypeParam, __half> ? 60000 : 3e38;
  for (const int64_t cols : {3, 100, 300, 2000, 9000}) {
    SCOPED_TRACE(cols);
    auto x = Rows<TypeParam>::filled(1, cols, -huge);
    x.at(0, 1) = static_cast<TypeParam>(static_cast<float>(huge));
    const Doubles y = this->forward_of(Form::softmax, x).row(0);
    const Doubles of_log = this->forward_of(Form::log_softmax, x).row(0);
    for (size_t j = 0; j < y.size(); ++j) {
      EXPECT_EQ(y[j], j == 1 ? 1 : 0);
      EXPECT_EQ(of_log[j], j == 1 ? 0 : -static_cast<double>(kInfinity));
    }
  }
}

TYPED_TEST(SoftmaxTest, MinusInfinityHasProbabilityZero) {
  for (const int64_t cols : {3, 100, 300, 2000, 9000, 20000})
    for (const int64_t at : {int64_t{0}, cols - 1}) {  // in one part of several, the others have no value
      SCOPED_TRACE(concat(cols, ", ", at));
      auto x = Rows<TypeParam>::filled(1, cols, -kInfinity);
      x.at(0, at) = x.at(0, cols / 2) = TypeParam(2.0f);
      const double want = at == cols / 2 ? 1 : 0.5;
      const Doubles y = this->forward_of(Form::softmax, x).row(0);
      const Doubles of_log = this->forward_of(Form::log_softmax, x).row(0);
      for (int64_t j = 0; j < cols; ++j) {
        const bool here = j == at || j == cols / 2;
        const auto k = static_cast<size_t>(j);
        ASSERT_EQ(y[k], here ? want : 0) << j;
        if (here)
          ASSERT_NEAR(of_log[k], std::log(want), 3e-3);
        else
          ASSERT_EQ(of_log[k], -static_cast<double>(kInfinity)) << j;
      }
    }
}

TYPED_TEST(SoftmaxTest, ARowOfMinusInfinityOrWithInfinityOrNanIsNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const int64_t cols : {1, 3, 100, 300, 2000, 9000})
    for (const Form form : kForms)
      for (const float bad : {-kInfinity, kInfinity, nan})
        for (const int64_t at : {int64_t{0}, cols - 1}) {
          SCOPED_TRACE(concat(cols, ", ", bad, " at ", at));
          auto x = Rows<TypeParam>::drawn(3, cols, cols, this->random, 1);
          const Rows<TypeParam> clean = this->forward_of(form, x);
          if (bad == -kInfinity)
            for (int64_t j = 0; j < cols; ++j) x.at(1, j) = TypeParam(bad);
          else
            x.at(1, at) = TypeParam(bad);
          const Rows<TypeParam> y = this->forward_of(form, x);
          for (const double value : y.row(1)) ASSERT_TRUE(std::isnan(value));
          EXPECT_EQ(y.row(0), clean.row(0));
          EXPECT_EQ(y.row(2), clean.row(2));
        }
}

// The gradient against central differences of the definition: the two share no formula.
TEST(Softmax, GradientMatchesFiniteDifferences) {
  constexpr double kStep = 1e-5;
  const Stream stream;
  Random random(3);
  for (const int64_t cols : {1, 7, 60, 300})
    for (const Form form : kForms) {
      const auto x = Rows<float>::drawn(1, cols, cols, random, 1),
                 dy = Rows<float>::drawn(1, cols, cols, random, 1);
      const auto y_of = [&](const Doubles& from) {
        Doubles y = log_softmax_of(from);
        if (form == Form::softmax)
          for (double& value : y) value = std::exp(value);
        return y;
      };
      const Doubles y = y_of(x.row(0));
      const GuardedBuffer<float> dev_y(std::vector<float>(y.begin(), y.end())), dev_dy(dy.values);
      GuardedBuffer<float> dx(cols);
      ASSERT_TRUE(ok(backward<float>(form, dx.matrix(1, cols, cols), dev_dy.matrix(1, cols, cols),
                                     dev_y.matrix(1, cols, cols), {}, stream)));
      Doubles want;
      for (size_t j = 0; j < y.size(); ++j) {
        Doubles above = x.row(0), below = above;
        above[j] += kStep, below[j] -= kStep;
        const Doubles y_above = y_of(above), y_below = y_of(below);
        double slope = 0;
        for (size_t k = 0; k < y.size(); ++k)
          slope += double{dy.values[k]} * (y_above[k] - y_below[k]) / (2 * kStep);
        want.push_back(slope);
      }
      EXPECT_TRUE(all_near(dx.download(), want, 2e-6, 2e-6)) << cols;
    }
}

// The same on every device, with the tiles of a GPU and with those of vectors. Of values without functions of
// a math library.
TEST(Softmax, HasTheBitsOfEveryDevice) {
  const Stream stream;
  uint64_t hash = 14695981039346656037u;
  for (const int64_t cols : {5, 128, 130, 1000, 1024, 5000, 8192, 30001})
    for (const Form form : kForms) {
      const std::vector<float> values = exact_values(2 * cols, 7), gradient = exact_values(2 * cols, 8);
      const GuardedBuffer<float> x(values), dy(gradient);
      GuardedBuffer<float> y(2 * cols), dx(2 * cols);
      GuardedBuffer<unsigned char> workspace(softmax_workspace_bytes(2, cols));
      ASSERT_TRUE(ok(forward<float>(form, matrix(y.data(), 2, cols), matrix(x.data(), 2, cols),
                                    workspace.workspace(), stream)));
      ASSERT_TRUE(ok(backward<float>(form, matrix(dx.data(), 2, cols), matrix(dy.data(), 2, cols),
                                     matrix<const float>(y.data(), 2, cols), workspace.workspace(), stream)));
      hash = hash_of(y.download(), hash_of(dx.download(), hash));
    }
  EXPECT_EQ(hash, 13259118743318600314u);
}

// Threads of a row that fits into one part read it before one of them writes.
TEST(Softmax, InPlaceInAnyOrderOfTheThreads) {
  constexpr int64_t kRows = 6, kCols = 3000;
  const std::vector<float> values = normal_values(kRows * kCols, 1);
  std::vector<float> want;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const RandomOrder order(seed);
    const Stream stream;
    GuardedBuffer<float> x(values);
    const MatrixView<float> view = matrix(x.data(), kRows, kCols);
    ASSERT_TRUE(ok(softmax(view, view, {}, stream)));
    if (seed == 0) want = x.download();
    EXPECT_TRUE(all_equal_bits(x.download(), want)) << seed;
  }
}

TEST(Softmax, WithoutRowsOrColumnsNothingIsDone) {
  const Stream stream;
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{0, 5}, {5, 0}, {0, 0}, {0, 9000}}) {
    const MatrixView<float> none = {nullptr, rows, cols, cols};
    EXPECT_TRUE(ok(softmax(none, none, {}, stream)));
    EXPECT_TRUE(ok(log_softmax_backward(none, none, none, {}, stream)));
  }
}

}  // namespace
}  // namespace rondo::test
