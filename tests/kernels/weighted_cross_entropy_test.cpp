// Cross-entropy with weights, ignored and smoothed labels, and probabilities as targets, against its
// definition in double precision. The file exceeds 400 lines because labels and probabilities share the
// options, the reference and the operands of the tests.
#include <gtest/gtest.h>

#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/kernels/loss/weighted_cross_entropy.h>
#include <rondo/tests/kernels/narrow_operands.h>
#include <rondo/tests/kernels/row_operands.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/random_order.h>

#include <cmath>

namespace rondo::test {
namespace {

constexpr int32_t kIgnored = -7;

struct Case {
  Floats weights = {};  // empty: none
  double smoothing = 0;
  LossReduction reduction = LossReduction::mean;
  float scale = 1;
  bool in_place = false, with_losses = true;
  int32_t ignored = kIgnored;
};

struct Expected {
  Doubles losses, gradient;  // the gradient of the sum of the losses
  double sum = 0, divisor = 0;
};

// t[j], the targets times the weights, of one row.
Expected expected(const std::vector<Doubles>& logits, const std::vector<Doubles>& t) {
  Expected all;
  for (size_t i = 0; i < logits.size(); ++i) {
    const Doubles& z = logits[i];
    const double most = *std::max_element(z.begin(), z.end());
    double exponentials = 0, total = 0, loss = 0;
    for (const double value : z) exponentials += std::exp(value - most);
    for (size_t j = 0; j < z.size(); ++j) {
      total += t[i][j];
      if (t[i][j] != 0) loss += t[i][j] * (std::log(exponentials) + most - z[j]);
    }
    all.losses.push_back(loss);
    all.sum += loss;
    for (size_t j = 0; j < z.size(); ++j)
      all.gradient.push_back(total * std::exp(z[j] - most) / exponentials - t[i][j]);
  }
  return all;
}

template <class T>
class WeightedCrossEntropy : public testing::Test {
 protected:
  struct Result {
    float loss;
    Floats losses;
    Rows<T> gradient;
  };
  // With labels, or with targets where there are none.
  Result run(const Rows<T>& logits, const std::vector<int32_t>& labels, const Rows<T>* targets,
             const Case& c) {
    const GuardedBuffer<float> weights(c.weights);
    const GuardedBuffer<int32_t> dev_labels(labels);
    GuardedBuffer<float> loss(1), losses(logits.rows);
    GuardedBuffer<unsigned char> workspace(cross_entropy_workspace_bytes(logits.rows, logits.cols));
    const CrossEntropyOptions options = {{c.weights.empty() ? nullptr : weights.data(), weights.size()},
                                         c.ignored,
                                         static_cast<float>(c.smoothing),
                                         c.reduction,
                                         c.scale};
    const VectorView<float> of_rows = c.with_losses ? losses.view() : VectorView<float>{};
    Rows<T> from = logits;
    from.in_place = c.in_place;
    const Rows<T> gradient = from.changed([&](MatrixView<T> to, MatrixView<const T> z) {
      if (!targets)
        return cross_entropy(to, loss.data(), of_rows, z, {dev_labels.data(), z.rows}, options,
                             workspace.workspace(), stream);
      const GuardedBuffer<T> dev_targets(targets->values, targets->offset);
      const Status status = cross_entropy_of_probabilities(
          to, loss.data(), of_rows, z, dev_targets.matrix(z.rows, z.cols, targets->stride), options,
          workspace.workspace(), stream);
      stream.synchronize();
      return status;
    });
    return {loss.download()[0], c.with_losses ? losses.download() : Floats(), gradient};
  }

  void expect_right(const Rows<T>& logits, const std::vector<int32_t>& labels, const Rows<T>* targets,
                    const Case& c) {
    SCOPED_TRACE(concat(logits.rows, " x ", logits.cols, targets ? ", targets" : ", labels", ", smoothing ",
                        c.smoothing, c.weights.empty() ? "" : ", weights", c.in_place ? ", in place" : ""));
    const auto classes = static_cast<size_t>(logits.cols);
    std::vector<Doubles> z, t;
    double divisor = 0;
    for (int64_t i = 0; i < logits.rows; ++i) {
      z.push_back(logits.row(i));
      Doubles q = targets ? targets->row(i) : Doubles(classes);
      const int32_t label = targets ? 0 : labels[static_cast<size_t>(i)];
      if (!targets && label != kIgnored) q[static_cast<size_t>(label)] = 1;
      for (size_t j = 0; j < classes; ++j) {
        const double weight = c.weights.empty() ? 1 : double{c.weights[j]};
        if (!targets && q[j] == 1) divisor += weight;
        // With labels PyTorch weighs the label's part by the weight of the label.
        q[j] = label == kIgnored && !targets
                   ? 0
                   : weight * ((1 - c.smoothing) * q[j] + c.smoothing / static_cast<double>(classes));
      }
      t.push_back(q);
      if (targets) divisor += 1;
    }
    const Expected want = expected(z, t);
    const Result got = run(logits, labels, targets, c);
    const auto size_of = [&](int64_t i) {
      double size = 0;
      for (const double value : t[static_cast<size_t>(i)]) size += std::abs(value);
      return size;
    };
    const double divided = c.reduction == LossReduction::mean ? divisor : 1;
    double tolerance = 0;
    for (int64_t i = 0; i < logits.rows; ++i) {
      const auto k = static_cast<size_t>(i);
      const double allowed = 0x1p-20 * (size_of(i) * 20 + std::abs(want.losses[k]));
      if (c.with_losses) {
        ASSERT_NEAR(got.losses[k], want.losses[k], allowed) << "row " << i;
      }
      tolerance += allowed;
      const auto begin = want.gradient.begin() + i * logits.cols;
      Doubles gradient(begin, begin + logits.cols);
      for (double& value : gradient) value *= c.scale / divided;
      ASSERT_TRUE(all_within(
          got.gradient.row(i), gradient,
          [&](size_t j) {
            return rounding_of<T>(gradient[j]) +
                   0x1p-19 * (std::abs(gradient[j]) + t[k][j] * std::abs(c.scale / divided)) + 1e-40;
          }))
          << "gradient, row " << i;
    }
    ASSERT_NEAR(got.loss, want.sum / divided, tolerance / std::abs(divided));
  }

  std::vector<int32_t> labels_of(int64_t rows, int64_t classes, bool some_ignored) {
    std::vector<int32_t> labels;
    for (int64_t i = 0; i < rows; ++i)
      labels.push_back(some_ignored && random.below(4) == 0 ? kIgnored
                                                            : static_cast<int32_t>(random.below(classes)));
    if (some_ignored) labels[0] = 0;
    return labels;
  }
  Floats weights_of(int64_t classes) {
    Floats weights;
    for (int64_t j = 0; j < classes; ++j) weights.push_back(static_cast<float>(0.25 + random.uniform()));
    return weights;
  }
  Rows<T> targets_of(int64_t rows, int64_t classes) {
    auto targets = Rows<T>::filled(rows, classes, 0);
    for (T& value : targets.values)
      value = static_cast<T>(static_cast<float>(random.uniform() * 2 / static_cast<double>(classes)));
    return targets;
  }

  Random random{5};
  Stream stream;
};
using Types = testing::Types<float, __nv_bfloat16, __half>;
TYPED_TEST_SUITE(WeightedCrossEntropy, Types, NameOfType);

TYPED_TEST(WeightedCrossEntropy, MatchesTheDefinitionAtTheBordersOfItsTiles) {
  for (const auto& [rows, cols] : kRowShapes) {
    const auto logits = Rows<TypeParam>::drawn(rows, cols, cols + rows % 3, this->random, 3);
    auto targets = this->targets_of(rows, cols);
    this->expect_right(logits, this->labels_of(rows, cols, false), nullptr, {});
    this->expect_right(logits, this->labels_of(rows, cols, true), nullptr,
                       {.weights = this->weights_of(cols), .smoothing = 0.1, .in_place = true});
    this->expect_right(logits, {}, &targets, {});
    targets.offset = 1;
    this->expect_right(logits, {}, &targets,
                       {.weights = this->weights_of(cols), .smoothing = 0.25, .in_place = true});
  }
}

TYPED_TEST(WeightedCrossEntropy, MatchesTheDefinitionOfDrawnOptions) {
  for (int draw = 0; draw < 60; ++draw) {
    const int64_t cols = 1 + this->random.below(draw < 30 ? 140 : draw < 54 ? 1500 : 20000);
    const int64_t rows = 1 + this->random.below(cols < 200 ? 300 : 4);
    auto logits = Rows<TypeParam>::drawn(rows, cols, cols + this->random.below(9), this->random,
                                         0.1 + 4 * this->random.uniform());
    logits.offset = this->random.below(9);
    const Case c = {draw % 3 == 0 ? Floats() : this->weights_of(cols),
                    draw % 4 == 0 ? 0 : this->random.uniform(),
                    draw % 5 < 3 ? LossReduction::mean : LossReduction::sum,
                    static_cast<float>(this->random.normal()),
                    draw % 7 < 3,
                    draw % 6 != 0};
    auto targets = this->targets_of(rows, cols);
    targets.offset = this->random.below(2);
    if (draw % 2 == 0)
      this->expect_right(logits, this->labels_of(rows, cols, draw % 8 < 4), nullptr, c);
    else
      this->expect_right(logits, {}, &targets, c);
  }
}

// Without options it is the loss of softmax_cross_entropy().
TYPED_TEST(WeightedCrossEntropy, AgreesWithTheLossWithoutOptions) {
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{200, 10}, {50, 300}, {3, 9000}}) {
    const auto logits = Rows<TypeParam>::drawn(rows, cols, cols, this->random, 2);
    const std::vector<int32_t> labels = this->labels_of(rows, cols, false);
    const auto got = this->run(logits, labels, nullptr, {});
    const GuardedBuffer<TypeParam> z(logits.values);
    const GuardedBuffer<int32_t> dev_labels(labels);
    GuardedBuffer<TypeParam> gradient(rows * cols);
    GuardedBuffer<LossStats> stats(std::vector<LossStats>(1));
    GuardedBuffer<unsigned char> workspace(softmax_cross_entropy_workspace_bytes(rows, cols));
    ASSERT_TRUE(ok(softmax_cross_entropy(matrix(gradient.data(), rows, cols), stats.data(),
                                         matrix(z.data(), rows, cols), {dev_labels.data(), rows},
                                         1 / static_cast<float>(rows), workspace.workspace(), this->stream)));
    const double loss = stats.download()[0].loss / static_cast<double>(rows);
    EXPECT_NEAR(got.loss, loss, 1e-6 * (1 + loss));
    Doubles want;
    for (const float value : as_floats(gradient.download())) want.push_back(value);
    EXPECT_TRUE(all_within(got.gradient.values, want, [&](size_t i) {
      return 2 * rounding_of<TypeParam>(want[i]) + 1e-6 * std::abs(want[i]) +
             1e-7 / static_cast<double>(rows);
    }));
  }
}

TYPED_TEST(WeightedCrossEntropy, IgnoredRowsAndBadLabels) {
  for (const int64_t cols : {3, 100, 300, 2000, 9000}) {
    SCOPED_TRACE(cols);
    auto logits = Rows<TypeParam>::drawn(4, cols, cols, this->random, 1);
    logits.at(1, 0) = TypeParam(std::numeric_limits<float>::quiet_NaN());  // of a row that is ignored
    const auto ignored = this->run(logits, {0, kIgnored, 2, kIgnored}, nullptr, {});
    EXPECT_TRUE(std::isfinite(ignored.loss));
    EXPECT_EQ(ignored.losses[1], 0);
    EXPECT_NEAR(ignored.loss, (ignored.losses[0] + ignored.losses[2]) / 2, 1e-5);
    EXPECT_EQ(ignored.gradient.row(1), Doubles(static_cast<size_t>(cols)));
    EXPECT_EQ(ignored.gradient.row(3), Doubles(static_cast<size_t>(cols)));

    for (const int32_t bad : {-1, static_cast<int32_t>(cols), INT32_MAX, INT32_MIN}) {
      const auto got = this->run(logits, {0, kIgnored, bad, 1}, nullptr, {});
      EXPECT_TRUE(std::isnan(got.loss));
      EXPECT_TRUE(std::isnan(got.losses[2]));
      EXPECT_EQ(got.losses[0], ignored.losses[0]);
      EXPECT_EQ(got.gradient.row(2), Doubles(static_cast<size_t>(cols)));
    }
    // A class may be ignored, too.
    const auto class_1 = this->run(logits, {0, 1, 2, 1}, nullptr, {.ignored = 1});
    EXPECT_EQ(class_1.loss, ignored.loss);
    EXPECT_EQ(class_1.losses, ignored.losses);
    EXPECT_EQ(class_1.gradient.row(0), ignored.gradient.row(0));
    EXPECT_EQ(class_1.gradient.row(1), Doubles(static_cast<size_t>(cols)));

    const auto none = this->run(logits, std::vector<int32_t>(4, kIgnored), nullptr, {});
    EXPECT_TRUE(std::isnan(none.loss)) << "the mean of no rows";
    EXPECT_EQ(
        this->run(logits, std::vector<int32_t>(4, kIgnored), nullptr, {.reduction = LossReduction::sum}).loss,
        0);
  }
}

TYPED_TEST(WeightedCrossEntropy, InfiniteLogits) {
  for (const int64_t cols : {3, 100, 300, 2000, 9000, 20000}) {
    SCOPED_TRACE(cols);
    auto logits = Rows<TypeParam>::filled(4, cols, -kInfinity);
    for (const int64_t i : {0, 1}) logits.at(i, 0) = logits.at(i, cols - 1) = TypeParam(2.0f);
    logits.at(2, 1) = TypeParam(kInfinity);
    const auto got = this->run(logits, {0, 1, 0, 0}, nullptr, {.reduction = LossReduction::sum});
    EXPECT_NEAR(got.losses[0], std::log(2), 1e-6);
    EXPECT_EQ(got.losses[1], kInfinity);
    EXPECT_TRUE(std::isnan(got.losses[2]) && std::isnan(got.losses[3]));
    EXPECT_EQ(got.gradient.row(0)[0], -0.5);
    EXPECT_EQ(got.gradient.row(0).back(), 0.5);
    EXPECT_EQ(got.gradient.row(1)[0], 0.5);
    EXPECT_EQ(got.gradient.row(1)[1], -1);
    for (const double value : got.gradient.row(2)) ASSERT_TRUE(std::isnan(value));
  }
}

TEST(WeightedCrossEntropyLoss, GradientMatchesFiniteDifferences) {
  constexpr double kStep = 1e-5;
  const Stream stream;
  const int64_t rows = 3, classes = 12, size = rows * classes;
  const Floats z_values = normal_values(size, 1);
  Floats q_values = normal_values(size, 2), w = normal_values(classes, 3);
  for (float& value : q_values) value = std::abs(value);
  for (float& value : w) value = std::abs(value);
  const auto loss_of = [&](const Doubles& z, auto target_of) {
    std::vector<Doubles> logits, t;
    for (size_t i = 0; i < 3; ++i) {
      logits.emplace_back(z.begin() + static_cast<long>(12 * i), z.begin() + static_cast<long>(12 * (i + 1)));
      t.emplace_back();
      for (size_t j = 0; j < 12; ++j) t.back().push_back(w[j] * (0.7 * target_of(i, j) + 0.3 / 12));
    }
    return expected(logits, t).sum;
  };
  const std::vector<int32_t> labels = {4, 0, 11};
  const GuardedBuffer<float> logits(z_values), targets(q_values), weights(w);
  const GuardedBuffer<int32_t> dev_labels(labels);
  GuardedBuffer<float> gradient(size), loss(1);
  GuardedBuffer<unsigned char> workspace(cross_entropy_workspace_bytes(rows, classes));
  const CrossEntropyOptions options = {{weights.data(), classes}, -100, 0.3f, LossReduction::sum, 1};
  const auto check = [&](auto target_of) {
    Doubles z = to_double(z_values), want;
    for (double& value : z) {
      const double before = value;
      value = before + kStep;
      const double above = loss_of(z, target_of);
      value = before - kStep;
      want.push_back((above - loss_of(z, target_of)) / (2 * kStep));
      value = before;
    }
    EXPECT_TRUE(all_near(gradient.download(), want, 3e-6));
    EXPECT_NEAR(loss.download()[0], loss_of(z, target_of), 1e-5);
  };
  ASSERT_TRUE(ok(cross_entropy(matrix(gradient.data(), rows, classes), loss.data(), {},
                               matrix(logits.data(), rows, classes), {dev_labels.data(), rows}, options,
                               workspace.workspace(), stream)));
  check([&](size_t i, size_t j) { return static_cast<int32_t>(j) == labels[i] ? 1.0 : 0.0; });
  ASSERT_TRUE(ok(cross_entropy_of_probabilities(
      matrix(gradient.data(), rows, classes), loss.data(), {}, matrix(logits.data(), rows, classes),
      matrix(targets.data(), rows, classes), options, workspace.workspace(), stream)));
  check([&](size_t i, size_t j) { return double{q_values[12 * i + j]}; });
}

TEST(WeightedCrossEntropyLoss, WithoutAGradientTheLossIsTheSame) {
  const Stream stream;
  for (const int64_t classes : {10, 300, 9000}) {
    const GuardedBuffer<float> logits(normal_values(2 * classes, 1));
    const GuardedBuffer<int32_t> labels(std::vector<int32_t>{1, 2});
    GuardedBuffer<float> gradient(2 * classes), loss(1), other(1);
    GuardedBuffer<unsigned char> workspace(cross_entropy_workspace_bytes(2, classes));
    for (const bool with_gradient : {true, false})
      ASSERT_TRUE(
          ok(cross_entropy(with_gradient ? matrix(gradient.data(), 2, classes) : MatrixView<float>{},
                           with_gradient ? loss.data() : other.data(), {}, matrix(logits.data(), 2, classes),
                           {labels.data(), 2}, {}, workspace.workspace(), stream)));
    EXPECT_EQ(loss.download(), other.download());
  }
}

TEST(WeightedCrossEntropyLoss, InPlaceInAnyOrderOfTheThreads) {
  for (const int64_t classes : {40, 300, 3000}) {
    const Floats values = normal_values(6 * classes, 1);
    const GuardedBuffer<int32_t> labels(std::vector<int32_t>{0, 39, 8, 31, 32, 5});
    Floats want, want_loss;
    for (uint64_t seed = 0; seed < 6; ++seed) {
      const RandomOrder order(seed);
      const Stream stream;
      GuardedBuffer<float> logits(values), loss(1);
      GuardedBuffer<unsigned char> workspace(cross_entropy_workspace_bytes(6, classes));
      const MatrixView<float> view = matrix(logits.data(), 6, classes);
      ASSERT_TRUE(ok(
          cross_entropy(view, loss.data(), {}, view, {labels.data(), 6}, {}, workspace.workspace(), stream)));
      if (seed == 0) want = logits.download(), want_loss = loss.download();
      EXPECT_TRUE(all_equal_bits(logits.download(), want)) << seed;
      EXPECT_EQ(loss.download(), want_loss) << seed;
    }
  }
}

TEST(WeightedCrossEntropyLoss, WithoutRows) {
  const Stream stream;
  GuardedBuffer<float> loss(1);
  GuardedBuffer<unsigned char> workspace(cross_entropy_workspace_bytes(0, 5));
  const auto run = [&](LossReduction reduction) {
    EXPECT_TRUE(ok(cross_entropy({}, loss.data(), {}, MatrixView<const float>{nullptr, 0, 5, 5}, {},
                                 {.reduction = reduction}, workspace.workspace(), stream)));
    return loss.download()[0];
  };
  EXPECT_EQ(run(LossReduction::sum), 0);
  EXPECT_TRUE(std::isnan(run(LossReduction::mean)));
}

TEST(WeightedCrossEntropyLoss, RefusesOptionsOutOfRange) {
  const Stream stream;
  GuardedBuffer<float> logits(10), loss(1), weights(4);
  const GuardedBuffer<int32_t> labels(std::vector<int32_t>{0, 0});
  GuardedBuffer<unsigned char> workspace(cross_entropy_workspace_bytes(2, 5));
  const auto call = [&](const CrossEntropyOptions& options) {
    return cross_entropy({}, loss.data(), {}, matrix(logits.data(), 2, 5), {labels.data(), 2}, options,
                         workspace.workspace(), stream);
  };
  EXPECT_TRUE(refused(call({.label_smoothing = -0.1f}), "label_smoothing is -0.1, must be from 0 to 1"));
  EXPECT_TRUE(refused(call({.label_smoothing = 1.5f}), "label_smoothing is 1.5, must be from 0 to 1"));
  EXPECT_TRUE(refused(call({.label_smoothing = std::nanf("")}), "label_smoothing is nan"));
  EXPECT_TRUE(refused(call({.class_weights = {weights.data(), 4}}),
                      "class_weights.size is 4, must be logits.cols = 5"));
}

// The same on every device, with the tiles of a GPU and with those of vectors.
TEST(WeightedCrossEntropyLoss, HasTheBitsOfEveryDevice) {
  const Stream stream;
  uint64_t hash = 14695981039346656037u;
  for (const int64_t classes : {5, 128, 130, 1000, 5000, 30001})
    for (const float smoothing : {0.0f, 0.125f}) {
      const GuardedBuffer<float> logits(exact_values(2 * classes, 7)), targets(exact_values(2 * classes, 8)),
          weights(exact_values(classes, 9));
      const GuardedBuffer<int32_t> labels(std::vector<int32_t>{1, 4});
      GuardedBuffer<float> gradient(2 * classes), loss(1);
      GuardedBuffer<unsigned char> workspace(cross_entropy_workspace_bytes(2, classes));
      const CrossEntropyOptions options = {{weights.data(), classes}, -100, smoothing, LossReduction::sum, 1};
      ASSERT_TRUE(ok(cross_entropy(matrix(gradient.data(), 2, classes), loss.data(), {},
                                   matrix(logits.data(), 2, classes), {labels.data(), 2}, options,
                                   workspace.workspace(), stream)));
      hash = hash_of(gradient.download(), hash_of(loss.download(), hash));
      ASSERT_TRUE(ok(cross_entropy_of_probabilities(
          matrix(gradient.data(), 2, classes), loss.data(), {}, matrix(logits.data(), 2, classes),
          matrix(targets.data(), 2, classes), options, workspace.workspace(), stream)));
      hash = hash_of(gradient.download(), hash_of(loss.download(), hash));
    }
  EXPECT_EQ(hash, 3568959686700156587u);
}

}  // namespace
}  // namespace rondo::test
