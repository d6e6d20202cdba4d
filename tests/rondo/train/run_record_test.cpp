// What the page of a training contains: the thinned losses, and its numbers as JSON.
#include <gtest/gtest.h>
#include <rondo/tools/rondo/train/run_record.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

namespace rondo::program {
namespace {

using Json = nlohmann::json;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(LossCurve, KeepsEveryStepOfAShortRun) {
  LossCurve curve(3);
  for (int64_t epoch = 1; epoch <= 2; ++epoch) {
    for (int64_t step = 1; step <= 3; ++step)
      curve.add({.epoch = epoch,
                 .samples_done = std::min<int64_t>(step * 8, 20),
                 .samples = 20,
                 .step = step,
                 .recent_loss = static_cast<double>(10 * epoch + step)});
  }
  ASSERT_EQ(curve.points().size(), 6u);
  EXPECT_EQ(curve.parts(), 1);
  const int64_t samples[] = {8, 8, 4, 8, 8, 4};
  const double losses[] = {11, 12, 13, 21, 22, 23};
  for (size_t i = 0; i < 6; ++i) {
    const LossPoint& point = curve.points()[i];
    EXPECT_EQ(point.step, static_cast<int64_t>(i + 1));
    EXPECT_EQ(point.samples, samples[i]);
    EXPECT_EQ(point.loss, losses[i]);
    EXPECT_EQ(point.least, losses[i]);
    EXPECT_EQ(point.most, losses[i]);
  }
}

// The sum over all samples, the extremes and the last step stay, however long the run.
TEST(LossCurve, JoinsTheStepsOfALongRun) {
  for (const int64_t steps : {int64_t{LossCurve::kMostPoints}, int64_t{LossCurve::kMostPoints} + 1,
                              7 * int64_t{LossCurve::kMostPoints} + 3}) {
    LossCurve curve;
    double sum = 0, samples = 0;
    for (int64_t step = 1; step <= steps; ++step) {
      const int64_t count = step % 3 + 1;
      const double loss = step == 1000 ? 500 : 1.0 / static_cast<double>(step);
      curve.add(step, count, loss);
      sum += loss * static_cast<double>(count);
      samples += static_cast<double>(count);
    }
    EXPECT_LE(curve.points().size(), LossCurve::kMostPoints);
    EXPECT_GT(curve.points().size(), LossCurve::kMostPoints / 2 - 1);
    EXPECT_EQ(curve.points().back().step, steps);
    double of_points = 0, least = 500, most = 0;
    int64_t count = 0, parts = 0, before = 0;
    for (const LossPoint& point : curve.points()) {
      EXPECT_GT(point.step, before);
      before = point.step;
      of_points += point.loss * static_cast<double>(point.samples);
      count += point.samples;
      parts += point.parts;
      EXPECT_LE(point.least, point.loss);
      EXPECT_GE(point.most, point.loss);
      least = std::min(least, point.least);
      most = std::max(most, point.most);
    }
    EXPECT_EQ(static_cast<double>(count), samples);
    EXPECT_EQ(parts, steps);
    EXPECT_NEAR(of_points, sum, 1e-9 * sum);
    EXPECT_EQ(least, 1.0 / static_cast<double>(steps));
    EXPECT_EQ(most, 500);
  }
}

TEST(LossCurve, ALossThatIsNotFiniteStays) {
  LossCurve curve;
  for (int64_t step = 1; step <= 2 * int64_t{LossCurve::kMostPoints}; ++step)
    curve.add(step, 1, step == 101 ? kNan : 1.0);
  int bad = 0;
  for (const LossPoint& point : curve.points()) bad += std::isnan(point.loss) && std::isnan(point.most);
  EXPECT_EQ(bad, 1);
}

TEST(LossCurve, AStepWithoutSamplesIsLeftOut) {
  LossCurve curve;
  curve.add(1, 0, kNan);
  EXPECT_TRUE(curve.points().empty());
}

RunRecord record() {
  RunRecord record;
  record.title = "lenet </script> \"on\" {{data}}";
  record.facts = {{"network", "lenet & <b>"}, {"batch", "256"}};
  record.epochs_planned = 3;
  record.steps_per_epoch = 2;
  record.epochs = {{.epoch = 1,
                    .train_loss = 2.3,
                    .test_accuracy = 0.25,
                    .seconds = 1.5,
                    .phases = {0.1, 0.2, 0.3, 0.4, 0.5},
                    .learning_rate = 0.2f},
                   {.epoch = 2, .train_loss = kNan, .phases = {}, .learning_rate = NAN}};
  record.losses = LossCurve(2);
  record.losses.add(1, 10, 2.5);
  record.memory = {{"cpu:0", 2, 1000, {{"parameters", 40}, {"gradients", 60}}}};
  return record;
}

TEST(RunRecord, ItsJsonHasAllNumbers) {
  const Json json = Json::parse(run_json(record()));
  EXPECT_EQ(json.at("state"), "running");
  EXPECT_EQ(json.at("epochs_planned"), 3);
  EXPECT_EQ(json.at("steps_per_epoch"), 2);
  ASSERT_EQ(json.at("epochs").size(), 2u);
  EXPECT_EQ(json["epochs"][0],
            Json::parse(R"({"epoch": 1, "train_loss": 2.3, "seconds": 1.5, "test_accuracy": 0.25,
                            "learning_rate": 0.2, "phases": {"load": 0.1, "forward": 0.2, "backward": 0.3,
                            "reduce": 0.4, "update": 0.5}})"));
  EXPECT_TRUE(json["epochs"][1]["train_loss"].is_null());
  EXPECT_TRUE(json["epochs"][1]["learning_rate"].is_null());
  EXPECT_EQ(json.at("losses"),
            Json::parse(R"([{"step": 1, "samples": 10, "loss": 2.5, "least": 2.5, "most": 2.5}])"));
  EXPECT_EQ(json.at("memory"), Json::parse(R"([{"device": "cpu:0", "replicas": 2, "capacity": 1000,
      "parts": [{"name": "parameters", "bytes": 40}, {"name": "gradients", "bytes": 60}]}])"));
  EXPECT_TRUE(json.at("trace").is_null());
  EXPECT_FALSE(json.contains("step_phases"));
  EXPECT_FALSE(json.contains("peak_bytes"));
}

TEST(RunRecord, ATrainingWithoutEpochsHasSteps) {
  RunRecord run;
  run.steps = {{1.5, std::nullopt}, {1.25, 0.5}};
  run.step_phases = PhaseSeconds{1, 2, 3, 4, 5};
  run.peak_bytes = 77;
  run.trace = R"({"traceEvents": []})";
  const Json json = Json::parse(run_json(run));
  EXPECT_EQ(json.at("steps"),
            Json::parse(R"([{"loss": 1.5, "seconds": null}, {"loss": 1.25, "seconds": 0.5}])"));
  EXPECT_EQ(json.at("step_phases").at("reduce"), 4);
  EXPECT_EQ(json.at("peak_bytes"), 77);
  EXPECT_EQ(json.at("trace"), Json::parse(run.trace));
}

// Text of the run can't end the page's elements, or fill its places.
TEST(RunRecord, ItsPageKeepsText) {
  const std::string page = run_page(record());
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const size_t at = page.find(begin);
  ASSERT_NE(at, std::string::npos);
  const size_t end = page.find("</script>", at);
  const Json json = Json::parse(page.substr(at + begin.size(), end - at - begin.size()));
  EXPECT_EQ(json.at("title"), record().title);
  EXPECT_EQ(json.at("facts")[0][1], "lenet & <b>");
  EXPECT_NE(page.find("<title>lenet &lt;/script&gt;"), std::string::npos);
  EXPECT_EQ(page.find("http://"), std::string::npos);
  EXPECT_EQ(page.find("https://"), std::string::npos);
}

}  // namespace
}  // namespace rondo::program
