// Binary cross-entropy of logits against its definition in double precision, with its gradient.
#include <gtest/gtest.h>

#include <rondo/kernels/loss/binary_cross_entropy.h>
#include <rondo/tests/kernels/narrow_operands.h>
#include <rondo/tests/kernels/row_operands.h>
#include <rondo/tests/support/compare.h>

#include <cmath>

namespace rondo::test {
namespace {

struct Case {
  Floats weights = {}, positive_weights = {};  // empty: none
  LossReduction reduction = LossReduction::mean;
  float scale = 1;
  bool in_place = false, with_losses = true;
};

double softplus(double z) { return std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z))); }
double loss_of(double z, double t, double w, double p) {
  return w * (p * t * softplus(-z) + (1 - t) * softplus(z));
}
double sigmoid(double z) { return z < 0 ? std::exp(z) / (1 + std::exp(z)) : 1 / (1 + std::exp(-z)); }
double slope_of(double z, double t, double w, double p) {
  return w * ((1 - t) * sigmoid(z) - p * t * sigmoid(-z));
}

template <class T>
class BinaryCrossEntropy : public testing::Test {
 protected:
  struct Result {
    float loss;
    Floats losses;
    Rows<T> gradient;
  };
  Result run(const Rows<T>& logits, const Rows<T>& targets, const Case& c) {
    const GuardedBuffer<float> weights(c.weights), positive(c.positive_weights);
    const GuardedBuffer<T> dev_targets(targets.values, targets.offset);
    GuardedBuffer<float> loss(1), losses(logits.rows);
    GuardedBuffer<unsigned char> workspace(binary_cross_entropy_workspace_bytes(logits.rows, logits.cols));
    const auto view = [](const GuardedBuffer<float>& of) {
      return VectorView<const float>{of.size() > 0 ? of.data() : nullptr, of.size()};
    };
    const BinaryCrossEntropyOptions options = {view(weights), view(positive), c.reduction, c.scale};
    Rows<T> from = logits;
    from.in_place = c.in_place;
    const Rows<T> gradient = from.changed([&](MatrixView<T> to, MatrixView<const T> z) {
      return binary_cross_entropy(to, loss.data(), c.with_losses ? losses.view() : VectorView<float>{}, z,
                                  dev_targets.matrix(z.rows, z.cols, targets.stride), options,
                                  workspace.workspace(), stream);
    });
    return {loss.download()[0], c.with_losses ? losses.download() : Floats(), gradient};
  }
  void expect_right(const Rows<T>& logits, const Rows<T>& targets, const Case& c) {
    SCOPED_TRACE(concat(logits.rows, " x ", logits.cols, c.in_place ? ", in place" : ""));
    const Result got = run(logits, targets, c);
    const double divisor =
        c.reduction == LossReduction::mean ? static_cast<double>(logits.rows * logits.cols) : 1;
    double sum = 0;
    for (int64_t i = 0; i < logits.rows; ++i) {
      const Doubles z = logits.row(i), t = targets.row(i);
      double loss = 0;
      Doubles gradient;
      for (size_t j = 0; j < z.size(); ++j) {
        const double w = c.weights.empty() ? 1 : double{c.weights[j]};
        const double p = c.positive_weights.empty() ? 1 : double{c.positive_weights[j]};
        loss += loss_of(z[j], t[j], w, p);
        gradient.push_back(slope_of(z[j], t[j], w, p) * c.scale / divisor);
      }
      sum += loss;
      if (c.with_losses) {
        ASSERT_NEAR(got.losses[static_cast<size_t>(i)], loss, 0x1p-20 * loss) << "row " << i;
      }
      ASSERT_TRUE(all_within(
          got.gradient.row(i), gradient,
          [&](size_t j) {
            const double p = c.positive_weights.empty() ? 1 : double{c.positive_weights[j]};
            return rounding_of<T>(gradient[j]) + 0x1p-20 * std::abs(gradient[j]) +
                   (t[j] == 0 || t[j] == 1 ? 0.0 : 0x1p-20 * (1 + p) * 1.5 * std::abs(c.scale) / divisor) +
                   1e-44;
          }))
          << "gradient, row " << i;
    }
    ASSERT_NEAR(got.loss, sum / divisor, 0x1p-20 * sum / divisor);
  }
  // Yes, no, or between them.
  Rows<T> targets_of(int64_t rows, int64_t cols) {
    auto targets = Rows<T>::filled(rows, cols, 0);
    for (T& value : targets.values)
      value = static_cast<T>(
          static_cast<float>(random.below(3) == 0 ? random.uniform() : static_cast<double>(random.below(2))));
    return targets;
  }
  Floats weights_of(int64_t cols) {
    Floats weights;
    for (int64_t j = 0; j < cols; ++j) weights.push_back(static_cast<float>(0.25 + random.uniform()));
    return weights;
  }

  Random random{5};
  Stream stream;
};
using Types = testing::Types<float, __nv_bfloat16, __half>;
TYPED_TEST_SUITE(BinaryCrossEntropy, Types, NameOfType);

TYPED_TEST(BinaryCrossEntropy, MatchesTheDefinitionAtTheBordersOfItsTiles) {
  for (const auto& [rows, cols] : kRowShapes) {
    const auto logits = Rows<TypeParam>::drawn(rows, cols, cols + rows % 3, this->random, 3);
    this->expect_right(logits, this->targets_of(rows, cols), {});
    auto misaligned = this->targets_of(rows, cols);
    misaligned.offset = 1;
    this->expect_right(logits, misaligned,
                       {.weights = this->weights_of(cols),
                        .positive_weights = this->weights_of(cols),
                        .reduction = LossReduction::sum,
                        .scale = -0.75f,
                        .in_place = true,
                        .with_losses = false});
  }
}

// Logits up to the largest floats, with exact targets: neither overflow nor cancellation.
TYPED_TEST(BinaryCrossEntropy, DistantLogits) {
  const double huge = std::is_same_v<TypeParam, __half> ? 60000 : 3e38;
  auto logits = Rows<TypeParam>::filled(1, 8, 0), targets = Rows<TypeParam>::filled(1, 8, 0);
  const double z[] = {huge, -huge, huge, -huge, 30, -30, 90, 0};
  const double t[] = {1, 0, 0, 1, 1, 0, 0, 0};
  for (int64_t j = 0; j < 8; ++j) {
    logits.at(0, j) = static_cast<TypeParam>(static_cast<float>(z[j]));
    targets.at(0, j) = static_cast<TypeParam>(static_cast<float>(t[j]));
  }
  const auto got = this->run(logits, targets, {.reduction = LossReduction::sum}).gradient.row(0);
  const Doubles want = {0, 0, 1, -1, -sigmoid(-30), sigmoid(-30), 1, 0.5};
  EXPECT_TRUE(all_within(
      got, want, [&](size_t j) { return rounding_of<TypeParam>(want[j]) + 0x1p-21 * std::abs(want[j]); }));
  for (int64_t j = 0; j < 8; ++j) {
    auto one = Rows<TypeParam>::filled(1, 1, 0), target = one;
    one.at(0, 0) = logits.at(0, j), target.at(0, 0) = targets.at(0, j);
    const double exact = loss_of(one.row(0)[0], t[j], 1, 1);
    EXPECT_NEAR(this->run(one, target, {}).loss, exact, 0x1p-21 * exact) << z[j];
  }
}

TEST(BinaryCrossEntropyLoss, GradientMatchesFiniteDifferences) {
  constexpr double kStep = 1e-5;
  const Stream stream;
  const int64_t cols = 30;
  const Floats z = normal_values(cols, 1), w = normal_values(cols, 3), p = normal_values(cols, 4);
  Floats t = normal_values(cols, 2);
  for (float& value : t) value = std::min(std::abs(value), 1.0f);
  const GuardedBuffer<float> logits(z), targets(t), weights(w), positive(p);
  GuardedBuffer<float> gradient(cols), loss(1);
  GuardedBuffer<unsigned char> workspace(binary_cross_entropy_workspace_bytes(1, cols));
  ASSERT_TRUE(
      ok(binary_cross_entropy(matrix(gradient.data(), 1, cols), loss.data(), {},
                              matrix(logits.data(), 1, cols), matrix(targets.data(), 1, cols),
                              {{weights.data(), cols}, {positive.data(), cols}, LossReduction::sum, 1},
                              workspace.workspace(), stream)));
  Doubles want;
  for (size_t j = 0; j < z.size(); ++j)
    want.push_back((loss_of(z[j] + kStep, t[j], w[j], p[j]) - loss_of(z[j] - kStep, t[j], w[j], p[j])) /
                   (2 * kStep));
  EXPECT_TRUE(all_near(gradient.download(), want, 1e-6));
}

TEST(BinaryCrossEntropyLoss, WithoutElements) {
  const Stream stream;
  GuardedBuffer<float> loss(1);
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{0, 5}, {5, 0}}) {
    GuardedBuffer<unsigned char> workspace(binary_cross_entropy_workspace_bytes(rows, cols));
    const MatrixView<const float> none = {nullptr, rows, cols, cols};
    for (const LossReduction reduction : {LossReduction::sum, LossReduction::mean}) {
      ASSERT_TRUE(ok(binary_cross_entropy({}, loss.data(), {}, none, none, {.reduction = reduction},
                                          workspace.workspace(), stream)));
      const float got = loss.download()[0];
      EXPECT_TRUE(reduction == LossReduction::sum ? got == 0 : std::isnan(got)) << got;
    }
  }
}

// The same on every device, with the tiles of a GPU and with those of vectors.
TEST(BinaryCrossEntropyLoss, HasTheBitsOfEveryDevice) {
  const Stream stream;
  uint64_t hash = 14695981039346656037u;
  for (const int64_t cols : {5, 130, 1000, 5000, 30001}) {
    const GuardedBuffer<float> logits(exact_values(2 * cols, 7)), targets(exact_values(2 * cols, 8)),
        weights(exact_values(cols, 9));
    GuardedBuffer<float> gradient(2 * cols), loss(1);
    GuardedBuffer<unsigned char> workspace(binary_cross_entropy_workspace_bytes(2, cols));
    ASSERT_TRUE(ok(binary_cross_entropy(matrix(gradient.data(), 2, cols), loss.data(), {},
                                        matrix(logits.data(), 2, cols), matrix(targets.data(), 2, cols),
                                        {.positive_weights = {weights.data(), cols}}, workspace.workspace(),
                                        stream)));
    hash = hash_of(gradient.download(), hash_of(loss.download(), hash));
  }
  EXPECT_EQ(hash, 15187786936548967926u);
}

}  // namespace
}  // namespace rondo::test
