// The squared error against its definition in double precision, with its gradient.
#include <gtest/gtest.h>

#include <rondo/kernels/loss/squared_error.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

namespace rondo::test {
namespace {

struct SquaredErrorResult {
  std::vector<float> gradient;
  LossStats loss_stats;
};

SquaredErrorResult squared_error_of(const std::vector<float>& prediction, const std::vector<float>& target,
                                    int64_t rows, int64_t cols, float scale, int64_t offset, bool in_place) {
  const Stream stream;
  GuardedBuffer<float> y(prediction, offset), gradient(rows * cols, offset);
  const GuardedBuffer<float> t(target, offset);
  GuardedBuffer<LossStats> loss_stats(std::vector<LossStats>{{10, 2, 3, 1}});
  GuardedBuffer<unsigned char> workspace(squared_error_workspace_bytes(rows, cols));
  GuardedBuffer<float>& to = in_place ? y : gradient;
  EXPECT_TRUE(ok(squared_error(matrix(to.data(), rows, cols), loss_stats.data(),
                               matrix<const float>(y.data(), rows, cols), matrix(t.data(), rows, cols), scale,
                               workspace.workspace(), stream)));
  return {to.download(), loss_stats.download()[0]};
}

TEST(SquaredError, LossAndGradientMatchTheDefinition) {
  for (const auto& [rows, cols] :
       {std::pair<int64_t, int64_t>{0, 5}, {1, 1}, {3, 10}, {2048, 1}, {683, 3}, {700, 10}})
    for (const int64_t offset : {0, 1})
      for (const bool in_place : {false, true}) {
        const std::vector<float> y = normal_values(rows * cols, 1), t = normal_values(rows * cols, 2);
        const SquaredErrorResult got = squared_error_of(y, t, rows, cols, 0.125f, offset, in_place);
        double loss = 10;
        std::vector<double> gradient;
        for (size_t i = 0; i < y.size(); ++i) {
          const double error = double{y[i]} - t[i];
          loss += error * error;
          gradient.push_back(2 * error * 0.125);
        }
        EXPECT_NEAR(got.loss_stats.loss, loss, 2e-7 * loss);
        EXPECT_EQ(got.loss_stats.rows, 3 + rows);
        EXPECT_EQ(got.loss_stats.correct, 2);
        EXPECT_EQ(got.loss_stats.bad_labels, 1);
        EXPECT_TRUE(all_near(got.gradient, gradient, 1e-7, 2e-7)) << rows << " x " << cols;
      }
}

TEST(SquaredError, GradientIsOptional) {
  const Stream stream;
  const GuardedBuffer<float> y({1, 2, 3}), t({1, 1, 1});
  GuardedBuffer<LossStats> loss_stats(std::vector<LossStats>(1));
  GuardedBuffer<double> workspace(1);
  ASSERT_TRUE(ok(squared_error({}, loss_stats.data(), matrix(y.data(), 1, 3), matrix(t.data(), 1, 3), 1,
                               workspace.workspace(), stream)));
  EXPECT_EQ(loss_stats.download()[0].loss, 5);
}

TEST(SquaredError, BadArguments) {
  const Stream stream;
  GuardedBuffer<float> a(6), b(6), c(6);
  GuardedBuffer<LossStats> loss_stats(std::vector<LossStats>(1));
  GuardedBuffer<double> workspace(1);
  const auto call = [&](MatrixView<float> g, LossStats* to, MatrixView<const float> y,
                        MatrixView<const float> t,
                        Workspace w) { return squared_error(g, to, y, t, 1, w, stream); };
  const MatrixView<float> g = matrix(a.data(), 2, 3);
  const MatrixView<const float> y = matrix<const float>(b.data(), 2, 3),
                                t = matrix<const float>(c.data(), 2, 3);
  const Workspace w = workspace.workspace();
  EXPECT_TRUE(refused(call(g, nullptr, y, t, w), "loss_stats is null"));
  EXPECT_TRUE(
      refused(call(matrix(a.data(), 3, 2), loss_stats.data(), y, t, w), "gradient is 3 x 2, must be 2 x 3"));
  EXPECT_TRUE(
      refused(call(g, loss_stats.data(), y, matrix<const float>(c.data(), 1, 3), w), "target is 1 x 3"));
  EXPECT_TRUE(refused(call(g, loss_stats.data(), {nullptr, 2, 3, 3}, t, w), "prediction is null"));
  EXPECT_TRUE(
      refused(call(g, loss_stats.data(), y, {c.data(), 2, 3, 4}, w), "target.stride is 4, must be cols = 3"));
  EXPECT_TRUE(refused(call(g, loss_stats.data(), y, t, {}), "workspace has 0 bytes"));
}

}  // namespace
}  // namespace rondo::test
