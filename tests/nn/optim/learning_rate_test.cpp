// Learning rates: the limiting cases of each schedule, compared with values calculated by hand.
#include <gtest/gtest.h>

#include <rondo/nn/optim/learning_rate.h>
#include <rondo/tests/rondo/support/files.h>

#include <limits>

namespace rondo::nn {
namespace {

using test::error_of;
using test::missing;

constexpr TrainingRun kRun = {.steps_per_epoch = 10, .steps = 60};

// True if no step after `from` has a higher rate than the one before.
bool falls(const LearningRate& rate, int64_t from, TrainingRun run = kRun) {
  for (int64_t step = from + 1; step < run.steps; ++step)
    if (rate.at(step, run) > rate.at(step - 1, run)) return false;
  return true;
}

TEST(LearningRate, Constant) {
  const LearningRate rate = LearningRate::constant(0.2);
  for (const int64_t step : {0, 1, 59}) EXPECT_EQ(rate.at(step, kRun), 0.2f);
}

TEST(LearningRate, StepsDownEveryFewEpochs) {
  const LearningRate rate = LearningRate::step_decay(0.8, 2, 0.25);
  for (const auto& [step, expected] :
       {std::pair{0, 0.8f}, {9, 0.8f}, {19, 0.8f}, {20, 0.2f}, {39, 0.2f}, {40, 0.05f}, {59, 0.05f}})
    EXPECT_FLOAT_EQ(rate.at(step, kRun), expected) << step;
  EXPECT_EQ(LearningRate::step_decay(0.8, 1, 1).at(59, kRun), 0.8f);
}

// cos of 0, pi / 3, pi / 2 and 2 pi / 3: 1, 1/2, 0, -1/2.
TEST(LearningRate, CosineFallsToItsMinimum) {
  const LearningRate rate = LearningRate::cosine(1, 0.2);
  EXPECT_EQ(rate.at(0, kRun), 1.0f);
  EXPECT_FLOAT_EQ(rate.at(20, kRun), 0.8f);
  EXPECT_FLOAT_EQ(rate.at(30, kRun), 0.6f);
  EXPECT_FLOAT_EQ(rate.at(40, kRun), 0.4f);
  EXPECT_TRUE(falls(rate, 0));
  // One step before the end: 1 - cos(pi / 60) = 1.3705e-3.
  EXPECT_NEAR(rate.at(59, kRun), 0.2 + 0.8 * 1.3705e-3 / 2, 1e-7);
  EXPECT_GT(LearningRate::cosine(1).at(59, kRun), 0) << "the last step is not wasted";
  EXPECT_EQ(LearningRate::cosine(0.3).at(0, {1, 1}), 0.3f);
}

TEST(LearningRate, WarmsUp) {
  const LearningRate rate = LearningRate::constant(0.4).with_warmup(4);
  EXPECT_FLOAT_EQ(rate.at(0, kRun), 0.1f);
  EXPECT_FLOAT_EQ(rate.at(1, kRun), 0.2f);
  EXPECT_FLOAT_EQ(rate.at(2, kRun), 0.3f);
  for (const int64_t step : {3, 4, 59}) EXPECT_EQ(rate.at(step, kRun), 0.4f);
  EXPECT_EQ(LearningRate::constant(0.4).with_warmup(1).at(0, kRun), 0.4f);
  EXPECT_EQ(LearningRate::constant(0.4).with_warmup(0).at(0, kRun), 0.4f);
}

// The cosine begins after the warm-up; the epochs of step decay count from the beginning.
TEST(LearningRate, WarmsUpBeforeEachSchedule) {
  const LearningRate cosine = LearningRate::cosine(1).with_warmup(20);
  EXPECT_FLOAT_EQ(cosine.at(9, kRun), 0.5f);
  EXPECT_EQ(cosine.at(19, kRun), 1.0f);
  EXPECT_EQ(cosine.at(20, kRun), 1.0f);
  EXPECT_FLOAT_EQ(cosine.at(40, kRun), 0.5f);
  EXPECT_TRUE(falls(cosine, 19));
  const LearningRate steps = LearningRate::step_decay(1, 1, 0.5).with_warmup(20);
  EXPECT_FLOAT_EQ(steps.at(9, kRun), 0.5f);
  EXPECT_FLOAT_EQ(steps.at(14, kRun), 0.375f);
  EXPECT_FLOAT_EQ(steps.at(20, kRun), 0.25f);
  const TrainingRun only_warmup = {5, 20};
  EXPECT_EQ(cosine.at(19, only_warmup), 1.0f);
}

TEST(LearningRate, ScalesWithTheBatch) {
  EXPECT_DOUBLE_EQ(scaled_to_batch(0.1, 8192, 256), 3.2);
  EXPECT_DOUBLE_EQ(scaled_to_batch(0.1, 64, 256), 0.025);
  EXPECT_EQ(missing(error_of([] { scaled_to_batch(0.1, 0, 256); }), {"batches of 256", "scaled to 0"}), "");
  EXPECT_EQ(missing(error_of([] { scaled_to_batch(0.1, 8, 0); }), {"batches of 0", "scaled to 8"}), "");
}

TEST(LearningRate, RefusesWhatMakesNoSense) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(error_of([] { LearningRate::constant(0); }),
            "the learning rate is 0, must be above 0 and finite as a float");
  EXPECT_NE(error_of([&] { LearningRate::constant(nan); }), "");
  EXPECT_NE(error_of([] { LearningRate::constant(std::numeric_limits<double>::infinity()); }), "");
  for (const double rate : {1e-60, 1e60, -1e-60})  // 0 or infinity as a float
    EXPECT_EQ(missing(error_of([&] { LearningRate::constant(rate); }), {"finite as a float"}), "") << rate;
  EXPECT_GT(LearningRate::constant(1e-44).at(0, kRun), 0);
  EXPECT_NE(error_of([] { LearningRate::cosine(-1); }), "");
  EXPECT_EQ(missing(error_of([] { LearningRate::step_decay(1, 0, 0.1); }), {"every 0 epochs"}), "");
  for (const double gamma : {0.0, -0.5, 1.5, 1e-60, nan})
    EXPECT_EQ(missing(error_of([&] { LearningRate::step_decay(1, 1, gamma); }), {"factor", "at most 1"}),
              "");
  for (const double minimum : {-0.1, 0.6, nan})
    EXPECT_EQ(missing(error_of([&] { LearningRate::cosine(0.5, minimum); }), {"from 0 to 0.5"}), "");
  const LearningRate rate = LearningRate::constant(1);
  EXPECT_EQ(error_of([&] { rate.with_warmup(-1); }), "the warm-up has -1 steps, must have at least 0");
  EXPECT_EQ(error_of([&] { rate.with_warmup(61).at(0, kRun); }),
            "the warm-up has 61 steps, must have at most 60, those of the whole run");
  EXPECT_EQ(error_of([&] { rate.at(60, kRun); }),
            "the learning rate of step 60 was asked for, must be from 0 to 59");
  EXPECT_NE(error_of([&] { rate.at(-1, kRun); }), "");
  EXPECT_NE(error_of([&] { rate.check({0, 1}); }), "");
  EXPECT_NE(error_of([&] { rate.check({1, 0}); }), "");
}

TEST(LearningRate, FromACommandLine) {
  const auto same = [](const LearningRate& a, const LearningRate& b) {
    for (int64_t step = 0; step < kRun.steps; ++step)
      if (a.at(step, kRun) != b.at(step, kRun)) return false;
    return true;
  };
  EXPECT_TRUE(same(parse_learning_rate("constant", 0.3), LearningRate::constant(0.3)));
  EXPECT_TRUE(same(parse_learning_rate("step:2:0.1", 0.3), LearningRate::step_decay(0.3, 2, 0.1)));
  EXPECT_TRUE(same(parse_learning_rate("cosine", 0.3), LearningRate::cosine(0.3)));
  EXPECT_TRUE(
      same(parse_learning_rate("cosine:1e-2", 0.3, 7), LearningRate::cosine(0.3, 0.01).with_warmup(7)));
  EXPECT_TRUE(same(parse_learning_rate("cosine:0.3", 0.3), LearningRate::cosine(0.3, 0.3)));
  for (const char* bad : {"", "linear", "step", "step:3", "step:1:0.1:2", "cosine:0:1", "constant:1"})
    EXPECT_EQ(missing(error_of([&] { parse_learning_rate(bad, 0.3); }),
                      {concat("'", bad, "'"), "must be constant, step:EPOCHS:GAMMA, cosine or cosine:MIN"}),
              "");
  const auto refuses = [](const char* schedule, const std::vector<std::string>& parts) {
    EXPECT_EQ(missing(error_of([&] { parse_learning_rate(schedule, 0.3); }), parts), "");
  };
  refuses("step:0:0.1", {"'step:0:0.1'", "epochs '0'"});
  refuses("step:x:0.1", {"epochs 'x'"});
  refuses("step:3:2", {"factor '2'"});
  refuses("step:3:nan", {"factor 'nan'"});
  refuses("cosine:", {"minimum ''"});
  refuses("cosine:0.4", {"minimum '0.4'", "from 0 to 0.3"});
  refuses("cosine:-0.1", {"minimum '-0.1'"});
  EXPECT_EQ(missing(error_of([] { parse_learning_rate("constant", 0); }), {"learning rate is 0"}), "");
  EXPECT_EQ(missing(error_of([] { parse_learning_rate("constant", 1, -3); }), {"-3 steps"}), "");
}

}  // namespace
}  // namespace rondo::nn
