// Cross-entropy against its definition in double precision, with its gradient.
#include <gtest/gtest.h>

#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/kernels/loss/nonfinite_loss.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/random_order.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rondo::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Batch {
  int64_t rows, classes, stride;
  std::vector<float> logits;  // rows * stride
  std::vector<int32_t> labels;

  double logit(int64_t i, int64_t j) const { return logits[static_cast<size_t>(i * stride + j)]; }
};

// Random labels, and some confident correct predictions.
Batch random_batch(int64_t rows, int64_t classes, int64_t stride, double spread, uint64_t seed) {
  Batch batch = {rows, classes, stride, normal_values(rows * stride, seed), {}};
  Random random(seed + 1);
  for (float& value : batch.logits) value *= static_cast<float>(spread);
  for (int64_t i = 0; i < rows; ++i) {
    batch.labels.push_back(static_cast<int32_t>(random.below(classes)));
    if (i % 5 == 0) batch.logits[static_cast<size_t>(i * stride + batch.labels.back())] = 25;
  }
  return batch;
}

// -log softmax(logits[i])[label] in double precision, without cancellation for losses near 0.
double reference_loss(const Batch& b, int64_t i) {
  int64_t at = 0;
  for (int64_t j = 1; j < b.classes; ++j)
    if (b.logit(i, j) > b.logit(i, at)) at = j;
  double others = 0;
  for (int64_t j = 0; j < b.classes; ++j)
    if (j != at) others += std::exp(b.logit(i, j) - b.logit(i, at));
  return std::log1p(others) + (b.logit(i, at) - b.logit(i, b.labels[static_cast<size_t>(i)]));
}

int64_t reference_correct(const Batch& b) {
  int64_t correct = 0;
  for (int64_t i = 0; i < b.rows; ++i) {
    const auto begin = b.logits.begin() + i * b.stride;
    correct += std::max_element(begin, begin + b.classes) - begin == b.labels[static_cast<size_t>(i)];
  }
  return correct;
}

struct Result {
  LossStats loss_stats;
  std::vector<float> gradient;  // rows * classes
};

// Runs with a gradient of stride classes + 3 and checks that only the matrix itself is written.
Result run(const Batch& b, float scale, LossStats before = {}, int offset = 0) {
  const Stream stream;
  const GuardedBuffer<float> logits(b.logits, offset);
  const GuardedBuffer<int32_t> labels(b.labels, offset);
  const int64_t stride = b.classes + 3;
  GuardedBuffer<float> gradient(std::vector<float>(static_cast<size_t>(b.rows * stride), 7.0f), offset);
  GuardedBuffer<LossStats> loss_stats(std::vector<LossStats>{before});
  GuardedBuffer<unsigned char> workspace(softmax_cross_entropy_workspace_bytes(b.rows, b.classes));
  EXPECT_TRUE(ok(softmax_cross_entropy(gradient.matrix(b.rows, b.classes, stride), loss_stats.data(),
                                       logits.matrix(b.rows, b.classes, b.stride), {labels.data(), b.rows},
                                       scale, workspace.workspace(), stream)));
  Result result = {loss_stats.download()[0], {}};
  const std::vector<float> padded = gradient.download();
  for (int64_t i = 0; i < b.rows; ++i)
    for (int64_t j = 0; j < stride; ++j) {
      const float value = padded[static_cast<size_t>(i * stride + j)];
      if (j < b.classes)
        result.gradient.push_back(value);
      else
        EXPECT_EQ(value, 7.0f) << "written past the end of row " << i;
    }
  return result;
}

// Both kernels (a thread per row, lanes that share a row), with one block and several, ragged ends, and rows
// of several parts.
const std::vector<std::pair<int64_t, int64_t>> kShapes = {
    {1, 1},  {1, 10},   {127, 10}, {128, 10}, {129, 10}, {1000, 10}, {300, 64}, {1, 65},
    {2, 65}, {200, 65}, {7, 127},  {5, 128},  {3, 129},  {9, 1000},  {2, 5000}, {6, 20001}};

TEST(CrossEntropy, LossAndCountsMatchDoublePrecision) {
  for (const auto& [rows, classes] : kShapes) {
    const Batch batch = random_batch(rows, classes, classes + rows % 3, 2, 1);
    double want = 0;
    for (int64_t i = 0; i < rows; ++i) want += reference_loss(batch, i);
    const LossStats loss_stats = run(batch, 1, {}, static_cast<int>(rows % 4)).loss_stats;
    EXPECT_TRUE(std::abs(loss_stats.loss - want) <= 2e-6 * want + 1e-12 * static_cast<double>(classes))
        << rows << " x " << classes << ": " << loss_stats.loss << " instead of " << want;
    EXPECT_EQ(loss_stats.correct, reference_correct(batch)) << rows << " x " << classes;
    EXPECT_EQ(loss_stats.rows, rows);
    EXPECT_EQ(loss_stats.bad_labels, 0);
  }
}

// The gradient against central differences of the loss in double precision: the two share no formula.
TEST(CrossEntropy, GradientMatchesFiniteDifferences) {
  const double step = 1e-5;
  const float scale = 0.125f;
  for (const auto& [rows, classes] : {std::pair<int64_t, int64_t>{37, 10}, {3, 100}}) {
    Batch batch = random_batch(rows, classes, classes, 1, 3);
    const std::vector<float> gradient = run(batch, scale).gradient;
    std::vector<double> want;
    for (int64_t i = 0; i < rows; ++i) {
      // Shifted logits need double precision, so this differentiates the sum of exponentials instead of
      // reference_loss.
      const auto loss_shifted = [&](int64_t j, double shift) {
        double sum = 0;
        for (int64_t k = 0; k < classes; ++k) sum += std::exp(batch.logit(i, k) + (k == j ? shift : 0));
        const int32_t label = batch.labels[static_cast<size_t>(i)];
        return std::log(sum) - (batch.logit(i, label) + (label == j ? shift : 0));
      };
      for (int64_t j = 0; j < classes; ++j)
        want.push_back(scale * (loss_shifted(j, step) - loss_shifted(j, -step)) / (2 * step));
    }
    EXPECT_TRUE(all_near(gradient, want, 1e-7)) << rows << " x " << classes;
  }
}

// For a confident correct prediction, loss and gradient are tiny and must keep their relative accuracy.
TEST(CrossEntropy, KeepsRelativeAccuracyNearZero) {
  for (const int64_t classes : {int64_t{3}, int64_t{300}}) {
    Batch batch = {1, classes, classes, std::vector<float>(static_cast<size_t>(classes), 0.0f), {1}};
    batch.logits[1] = 30;
    const double others = static_cast<double>(classes - 1) * std::exp(-30.0);
    const Result result = run(batch, 1);
    EXPECT_NEAR(result.loss_stats.loss, others, 1e-5 * others);
    EXPECT_NEAR(result.gradient[1], -others, 1e-5 * others);
    EXPECT_NEAR(result.gradient[0], std::exp(-30.0), 1e-5 * std::exp(-30.0));
  }
}

TEST(CrossEntropy, LargeLogitsDoNotOverflow) {
  for (const int64_t classes : {int64_t{3}, int64_t{300}}) {
    Batch batch = {1, classes, classes, std::vector<float>(static_cast<size_t>(classes), -3e38f), {0}};
    batch.logits[0] = 3e38f;
    const Result right = run(batch, 1);
    EXPECT_EQ(right.loss_stats.loss, 0);
    EXPECT_EQ(right.loss_stats.correct, 1);
    EXPECT_TRUE(all_near(right.gradient, std::vector<double>(static_cast<size_t>(classes)), 0));
  }
}

// The distance of two finite logits may exceed the largest float. The gradient is finite.
TEST(CrossEntropy, TheLossOfDistantLogitsIsInfinite) {
  for (const int64_t classes : {int64_t{2}, int64_t{3}, int64_t{300}}) {
    Batch batch = {1, classes, classes, std::vector<float>(static_cast<size_t>(classes), -3e38f), {1}};
    batch.logits[0] = 3e38f;
    const Result wrong = run(batch, 1);
    EXPECT_EQ(wrong.loss_stats.loss, kInfinity) << classes;
    EXPECT_EQ(wrong.loss_stats.correct, 0);
    std::vector<double> gradient(static_cast<size_t>(classes));
    gradient[0] = 1, gradient[1] = -1;
    EXPECT_TRUE(all_near(wrong.gradient, gradient, 0)) << classes;

    batch.logits[1] = -4e37f;  // below the largest float
    EXPECT_EQ(run(batch, 1).loss_stats.loss, 3e38f + 4e37f) << classes;
  }
}

TEST(CrossEntropy, FirstOfEqualLogitsIsThePrediction) {
  for (const int64_t classes : {int64_t{4}, int64_t{200}})
    for (const int32_t label : {0, 1, 3}) {
      Batch batch = {1, classes, classes, std::vector<float>(static_cast<size_t>(classes), 0.5f), {label}};
      batch.logits[0] = -1;
      EXPECT_EQ(run(batch, 1).loss_stats.correct, label == 1) << classes << " classes, label " << label;
    }
}

TEST(CrossEntropy, NanAndInfinityReachTheResults) {
  for (const int64_t classes : {int64_t{4}, int64_t{200}})
    for (const float bad : {kNan, kInfinity})
      for (const size_t at : {0, 2}) {
        Batch batch = random_batch(2, classes, classes, 1, 5);
        const std::vector<float> clean = run(batch, 1).gradient;
        batch.labels[0] = static_cast<int32_t>(at);
        const bool second_is_correct =
            reference_correct({1,
                               classes,
                               classes,
                               {batch.logits.begin() + classes, batch.logits.end()},
                               {batch.labels[1]}}) == 1;
        batch.logits[at] = bad;
        const Result result = run(batch, 1);
        EXPECT_TRUE(std::isnan(result.loss_stats.loss));
        EXPECT_EQ(result.loss_stats.correct, second_is_correct) << "a row without a loss was counted";
        for (int64_t j = 0; j < classes; ++j)
          EXPECT_TRUE(std::isnan(result.gradient[static_cast<size_t>(j)]))
              << bad << " at " << at << ", class " << j;
        // The other row must not change.
        EXPECT_TRUE(std::equal(clean.begin() + classes, clean.end(), result.gradient.begin() + classes));
      }
}

TEST(CrossEntropy, MinusInfinityHasProbabilityZero) {
  for (const int64_t classes : {int64_t{3}, int64_t{200}}) {
    Batch batch = {1, classes, classes, std::vector<float>(static_cast<size_t>(classes), -kInfinity), {1}};
    batch.logits[0] = batch.logits[1] = 2;
    const Result result = run(batch, 1);
    EXPECT_NEAR(result.loss_stats.loss, std::log(2.0), 1e-6);
    EXPECT_NEAR(result.gradient[0], 0.5, 1e-6);
    EXPECT_NEAR(result.gradient[1], -0.5, 1e-6);
    EXPECT_EQ(result.gradient[2], 0);

    batch.labels[0] = 2;
    const Result impossible = run(batch, 1);
    EXPECT_EQ(impossible.loss_stats.loss, kInfinity);
    EXPECT_EQ(impossible.loss_stats.correct, 0);
    EXPECT_NEAR(impossible.gradient[0], 0.5, 1e-6);
    EXPECT_EQ(impossible.gradient[2], -1);
  }
}

TEST(CrossEntropy, ARowOfMinusInfinityHasNoLoss) {
  for (const int64_t classes : {int64_t{1}, int64_t{3}, int64_t{200}}) {
    const Batch batch = {
        1, classes, classes, std::vector<float>(static_cast<size_t>(classes), -kInfinity), {0}};
    const Result result = run(batch, 1);
    EXPECT_TRUE(std::isnan(result.loss_stats.loss)) << classes;
    EXPECT_EQ(result.loss_stats.correct, 0);
    for (const float value : result.gradient) EXPECT_TRUE(std::isnan(value)) << classes;
  }
}

TEST(CrossEntropy, ALabelOutOfRangeIsOnlyCounted) {
  for (const int64_t classes : {int64_t{10}, int64_t{100}})
    for (const int32_t bad : {-1, static_cast<int32_t>(classes), INT32_MAX, INT32_MIN}) {
      Batch batch = random_batch(3, classes, classes, 1, 6);
      const std::vector<float> clean = run(batch, 1).gradient;
      batch.labels[1] = bad;
      const Result result = run(batch, 1);
      EXPECT_EQ(result.loss_stats.bad_labels, 1);
      EXPECT_EQ(result.loss_stats.rows, 3);
      EXPECT_TRUE(std::isnan(result.loss_stats.loss));
      std::vector<float> want = clean;
      std::fill(want.begin() + classes, want.begin() + 2 * classes, 0.0f);
      EXPECT_TRUE(all_equal_bits(result.gradient, want)) << bad;
    }
}

TEST(CrossEntropy, AddsToTheLossStats) {
  for (const int64_t rows : {1, 300}) {
    const Batch batch = random_batch(rows, 10, 10, 1, 7);
    const LossStats from_zero = run(batch, 1).loss_stats;
    const LossStats loss_stats = run(batch, 1, {100, 5, 6, 7}).loss_stats;
    EXPECT_EQ(loss_stats.loss, 100 + from_zero.loss);
    EXPECT_EQ(loss_stats.correct, 5 + from_zero.correct);
    EXPECT_EQ(loss_stats.rows, 6 + rows);
    EXPECT_EQ(loss_stats.bad_labels, 7);
  }
}

TEST(CrossEntropy, GradientInPlaceOfTheLogits) {
  const Stream stream;
  for (const auto& [rows, classes] : {std::pair<int64_t, int64_t>{200, 10}, {5, 300}}) {
    const Batch batch = random_batch(rows, classes, classes, 1, 8);
    const Result want = run(batch, 0.5f);
    GuardedBuffer<float> logits(batch.logits);
    const GuardedBuffer<int32_t> labels(batch.labels);
    GuardedBuffer<LossStats> loss_stats(std::vector<LossStats>{{}});
    GuardedBuffer<unsigned char> workspace(softmax_cross_entropy_workspace_bytes(rows, classes));
    const MatrixView<float> view = matrix(logits.data(), rows, classes);
    ASSERT_TRUE(ok(softmax_cross_entropy(view, loss_stats.data(), view, {labels.data(), rows}, 0.5f,
                                         workspace.workspace(), stream)));
    EXPECT_TRUE(all_equal_bits(logits.download(), want.gradient));
    EXPECT_EQ(loss_stats.download()[0].loss, want.loss_stats.loss);
  }
}

// A block per row, with the threads in any order: the label's logit must be read before a thread overwrites
// it.
TEST(CrossEntropy, InPlaceInAnyOrderOfTheThreads) {
  constexpr int64_t kClasses = 300;
  Batch batch = random_batch(6, kClasses, kClasses, 1, 8);
  batch.labels = {0, 1, 127, 128, 256, 299};
  const Result want = run(batch, 0.5f);
  const GuardedBuffer<int32_t> labels(batch.labels);
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const RandomOrder order(seed);
    const Stream stream;
    GuardedBuffer<float> logits(batch.logits);
    GuardedBuffer<LossStats> loss_stats(std::vector<LossStats>{{}});
    GuardedBuffer<unsigned char> workspace(softmax_cross_entropy_workspace_bytes(batch.rows, kClasses));
    const MatrixView<float> view = matrix(logits.data(), batch.rows, kClasses);
    ASSERT_TRUE(ok(softmax_cross_entropy(view, loss_stats.data(), view, {labels.data(), batch.rows}, 0.5f,
                                         workspace.workspace(), stream)));
    EXPECT_TRUE(all_equal_bits(logits.download(), want.gradient)) << "seed " << seed;
    EXPECT_EQ(loss_stats.download()[0].loss, want.loss_stats.loss) << "seed " << seed;
    EXPECT_EQ(loss_stats.download()[0].correct, want.loss_stats.correct) << "seed " << seed;
  }
}

TEST(CrossEntropy, WithoutAGradientTheLossStatsAreTheSame) {
  const Stream stream;
  for (const auto& [rows, classes] : {std::pair<int64_t, int64_t>{200, 10}, {5, 300}}) {
    const Batch batch = random_batch(rows, classes, classes, 1, 9);
    const GuardedBuffer<float> logits(batch.logits);
    const GuardedBuffer<int32_t> labels(batch.labels);
    GuardedBuffer<LossStats> loss_stats(std::vector<LossStats>{{}});
    GuardedBuffer<unsigned char> workspace(softmax_cross_entropy_workspace_bytes(rows, classes));
    ASSERT_TRUE(ok(softmax_cross_entropy({}, loss_stats.data(), matrix(logits.data(), rows, classes),
                                         {labels.data(), rows}, 1, workspace.workspace(), stream)));
    const LossStats want = run(batch, 1).loss_stats;
    EXPECT_EQ(loss_stats.download()[0].loss, want.loss);
    EXPECT_EQ(loss_stats.download()[0].correct, want.correct);
    EXPECT_TRUE(all_equal_bits(logits.download(), batch.logits));
  }
}

TEST(CrossEntropy, NoRowsChangeNothing) {
  const Stream stream;
  GuardedBuffer<LossStats> loss_stats(std::vector<LossStats>{{1, 2, 3, 4}});
  ASSERT_TRUE(ok(softmax_cross_entropy({}, loss_stats.data(), MatrixView<const float>{nullptr, 0, 10, 10}, {},
                                       1, {}, stream)));
  EXPECT_EQ(loss_stats.download()[0].loss, 1);
  EXPECT_EQ(loss_stats.download()[0].rows, 3);
}

// Changes one gradient, and only where the sum of the losses is not finite.
TEST(NonfiniteLoss, MarksTheGradient) {
  const Stream stream;
  constexpr double kLargest = std::numeric_limits<double>::max(),
                   kInfinite = std::numeric_limits<double>::infinity();
  for (const double loss : {0.0, 1e39, kLargest, -kLargest, kInfinite, -kInfinite, std::nan("")}) {
    GuardedBuffer<float> gradient(std::vector<float>{3});
    const GuardedBuffer<LossStats> stats(std::vector<LossStats>{{loss, 0, 1, 0}});
    ASSERT_TRUE(ok(mark_nonfinite_loss(gradient.data(), stats.data(), stream)));
    stream.synchronize();
    const float after = gradient.download()[0];
    EXPECT_TRUE(std::isfinite(loss) ? after == 3 : std::isnan(after)) << loss << " gives " << after;
  }
}

TEST(CrossEntropy, BadArguments) {
  const Stream stream;
  GuardedBuffer<float> z(300 * 10), dz(300 * 10);
  GuardedBuffer<int32_t> y(300);
  GuardedBuffer<LossStats> memory(1), workspace(3);
  const MatrixView<const float> logits = {z.data(), 2, 10, 10}, many = {z.data(), 300, 10, 10};
  const MatrixView<float> gradient = matrix(dz.data(), 2, 10);
  const VectorView<const int32_t> labels = {y.data(), 2}, many_labels = {y.data(), 300};
  LossStats* loss_stats = memory.data();
  auto* misaligned = reinterpret_cast<LossStats*>(reinterpret_cast<char*>(loss_stats) + 4);
  const auto call = [&](MatrixView<float> g, LossStats* t, MatrixView<const float> x,
                        VectorView<const int32_t> l,
                        Workspace w) { return softmax_cross_entropy(g, t, x, l, 1, w, stream); };
  EXPECT_TRUE(
      refused(call(gradient, nullptr, logits, labels, {}), "softmax_cross_entropy: loss_stats is null"));
  EXPECT_TRUE(refused(call(gradient, misaligned, logits, labels, {}), "loss_stats is at"));
  EXPECT_TRUE(refused(call(gradient, loss_stats, {nullptr, 2, 10, 10}, labels, {}), "logits is null"));
  EXPECT_TRUE(refused(call(gradient, loss_stats, {z.data(), -2, 10, 10}, labels, {}), "logits is -2 x 10"));
  EXPECT_TRUE(refused(call(gradient, loss_stats, {z.data(), 2, 10, 9}, labels, {}), "logits.stride is 9"));
  EXPECT_TRUE(refused(call({}, loss_stats, {z.data(), 2, 0, 0}, labels, {}), "logits.cols is 0"));
  EXPECT_TRUE(refused(call(gradient, loss_stats, logits, {nullptr, 2}, {}), "labels is null"));
  EXPECT_TRUE(refused(call(gradient, loss_stats, logits, {y.data(), 3}, {}),
                      "labels.size is 3, must be logits.rows = 2"));
  EXPECT_TRUE(refused(call({dz.data(), 3, 10, 10}, loss_stats, logits, labels, {}),
                      "gradient is 3 x 10, must be 2 x 10"));
  EXPECT_TRUE(refused(call({dz.data(), 2, 9, 10}, loss_stats, logits, labels, {}), "gradient is 2 x 9"));
  EXPECT_TRUE(refused(call({dz.data(), 2, 10, 9}, loss_stats, logits, labels, {}), "gradient.stride is 9"));
  EXPECT_EQ(softmax_cross_entropy_workspace_bytes(300, 10), workspace.workspace().bytes);
  EXPECT_TRUE(refused(call({}, loss_stats, many, many_labels, {}), "workspace has 0 bytes"));
  EXPECT_TRUE(
      refused(call({}, loss_stats, many, many_labels, {workspace.data(), 95}), "must have at least 96"));
  EXPECT_TRUE(refused(call({}, loss_stats, many, many_labels, {nullptr, 96}), "workspace is null"));
  EXPECT_TRUE(
      refused(call({}, loss_stats, many, many_labels, {reinterpret_cast<char*>(workspace.data()) + 4, 96}),
              "must be aligned to 16"));
}

}  // namespace
}  // namespace rondo::test
